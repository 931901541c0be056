import { TOPICS } from '../fleet/topics.js';
import type { Stage } from './stage.js';

const DYING = 12;
const TAKES = 700;

/** For how long dead letters are kept, and how soon after that they are gone at the latest, in milliseconds. */
const KEPT = 2000;
const GONE = 10_000;

/** Messages die in processes that shut down, and own their partitions no more: who owns those removes the dead letters in time. */
export async function dieLate(stage: Stage): Promise<void> {
  const [topic] = stage.handled('few-attempts');
  if (topic === undefined) return;
  const { scene, fleet } = stage;
  scene.deployed = { [topic]: { ...TOPICS[topic]?.options, deadLetter: { maxAge: KEPT } } };
  for (const index of fleet.slots.keys()) await stage.restart(index);
  let begun = 0;
  scene.rules.onBegin = () => begun++;
  for (let i = 0; i < DYING; i++) {
    await stage.publish(topic, `dying-${i}`, { takes: TAKES, trouble: { kind: 'gives up' } });
  }
  await stage.until(() => begun === DYING, KEPT);
  scene.rules.onBegin = undefined;
  for (const slot of fleet.slots.slice(1)) slot.leave(() => {});
  await stage.wait(KEPT + GONE);
  const left = scene.server.data.keys.filter((key) => key.startsWith(`{dq:${topic}:`) && key.endsWith(':dead'));
  if (left.length > 0) stage.violated(`dead letters are left in ${left.join(', ')} long after their time`, left);
}
