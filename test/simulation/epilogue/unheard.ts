import type { Stage } from './stage.js';

/** How long signals are lost, and how soon an owner looks by itself whether its partition is still paused, in milliseconds. */
const UNHEARD = 1000;
const LOOKS = 25_000;

const IN_A_ROW = 20;

/** A topic is resumed, and no owner of its partitions hears of it: it looks. */
export async function resumeUnheard(stage: Stage): Promise<void> {
  const [topic] = stage.handled('plain');
  const [operator] = stage.running;
  if (topic === undefined || !operator) return;
  const { server, world } = stage.scene;
  const { admin } = operator.connection;
  await stage.answer(admin.pause(topic));
  for (let i = 0; i < 8; i++) await stage.publish(topic, `unheard-${i}`);
  await stage.wait(UNHEARD);
  server.muteUntil = world.now + UNHEARD;
  await stage.answer(admin.resume(topic));
  await stage.assertHandled(LOOKS, 'a topic was resumed');
}

/** No process hears signals while messages of one key are handled: each begins once the one before it is done. */
export async function goOnUnheard(stage: Stage): Promise<void> {
  const [topic] = stage.handled('ordered');
  if (topic === undefined) return;
  const { server, world } = stage.scene;
  const deliverAt = server.now() + UNHEARD;
  for (let i = 0; i < IN_A_ROW; i++) await stage.publish(topic, 'in-a-row', { earliest: deliverAt }, { deliverAt });
  server.muteUntil = world.now + 2 * UNHEARD;
  await stage.assertHandled(2 * UNHEARD, 'signals were lost');
}
