import type { Stage } from './stage.js';

/** How soon after their time messages begin at the latest whose head has been removed, in milliseconds: a claim looks so often. */
const MENDED = 330_000;

const DELAY = 3000;

/** How many fail together of which one cannot be repeated, and how soon all others are done, in milliseconds. */
const FAILING = 8;
const DONE = 30_000;

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

/** Another program has written a backoff that is none: its message is a dead letter, and what has failed with it comes again. */
export async function damageBackoff(stage: Stage): Promise<void> {
  const [topic] = stage.handled('plain');
  if (topic === undefined) return;
  const { rules, server } = stage.scene;
  const earliest = server.now() + DELAY;
  const work = { earliest, takes: 1, throws: 1 };
  await stage.publish(topic, 'damaged', work, { deliverAt: earliest });
  for (let i = 1; i < FAILING; i++) await stage.publish(topic, 'damaged', work, { deliverAt: earliest });
  const damaged = 'damaged-0\0damaged';
  for (const key of server.data.keys.filter((one) => one.startsWith(`{dq:${topic}:`) && one.endsWith(':messages'))) {
    const envelope = server.data.call('HGET', key, damaged) as string | null;
    if (envelope !== null) server.data.call('HSET', key, damaged, envelope.replace(/]$/, ',{"b":[1000,2]}]'));
  }
  rules.messages.mayBeGone('damaged-0');
  rules.messages.damaged('damaged-0');
  await stage.assertHandled(DELAY + DONE, 'a message was damaged');
}
