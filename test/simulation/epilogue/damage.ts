import type { Stage } from './stage.js';

/** How soon after their time messages begin at the latest whose head has been removed, in milliseconds: a claim looks so often. */
const MENDED = 330_000;

const DELAY = 3000;

/** Another program removes the head of a key: those behind it go on. */
export async function removeHead(stage: Stage): Promise<void> {
  const [topic] = stage.handled('ordered');
  if (topic === undefined) return;
  const { rules, server } = stage.scene;
  const earliest = server.now() + DELAY;
  for (let i = 0; i < 4; i++) await stage.publish(topic, 'headless', { earliest }, { deliverAt: earliest });
  const head = 'headless-0\0headless';
  for (const key of server.data.keys.filter((one) => one.startsWith(`{dq:${topic}:`))) {
    if (key.endsWith(':scheduled')) server.data.call('ZREM', key, head);
    if (key.endsWith(':messages')) server.data.call('HDEL', key, head);
  }
  rules.messages.mayBeGone('headless-0');
  await stage.assertHandled(DELAY + MENDED, 'the head of their key was removed');
}
