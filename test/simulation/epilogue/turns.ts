import type { Stage } from './stage.js';

const ROUNDS = 20;
const DELAY = 500;

/** How soon one process has all partitions after the others are gone, in milliseconds. */
const ALONE = 20_000;
const HANDLED = 10_000;

/** What is due in one instant in two topics of a handler begins in the order of the topics. */
export async function takeTurns(stage: Stage): Promise<void> {
  const { fleet, scene } = stage;
  if (stage.handled('first', 'second').length < 2) return;
  for (const { process } of fleet.slots.slice(1)) process?.end();
  await stage.wait(ALONE);
  const begun = new Set<string>();
  scene.rules.onBegin = ({ id }) => {
    begun.add(id);
    const before = id.replace('turn-second', 'turn-first');
    if (!begun.has(before))
      stage.violated(`${id} begins before ${before}, which is due at the same time`, [id, before]);
  };
  for (let round = 0; round < ROUNDS; round++) {
    const deliverAt = Math.round(scene.server.now() + DELAY);
    for (const topic of ['second', 'first'] as const) {
      await stage.publish(topic, `turn-${topic}`, { earliest: deliverAt }, { deliverAt });
    }
    await stage.assertHandled(HANDLED, 'two were due at the same time');
  }
  scene.rules.onBegin = undefined;
}
