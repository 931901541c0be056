import type { Stage } from './stage.js';

/** More than run at once, and almost as many as do. */
const MANY = 40;
const AT_ONCE = 15;

/** In milliseconds. */
const TAKES = 1000;
const BEGUN = 30_000;
const HANDLED = 180_000;

/** How often a process ends with all that it handles, until that is suspected of ending it. */
const CRASHES = 3;

/** The one process that is left crashes again and again with what it handles: after that suspects run in groups, and all are handled. */
export async function crash(stage: Stage): Promise<void> {
  const { fleet, scene } = stage;
  const [topic] = stage.handled('plain');
  const [slot, ...others] = fleet.slots;
  if (topic === undefined || !slot) return;
  for (const { process } of others) process?.end();
  for (let i = 0; i < MANY; i++) await stage.publish(topic, `crashing-${i}`, { takes: TAKES }, { delay: TAKES });
  for (let crashes = 0; crashes < CRASHES; crashes++) {
    let begun = 0;
    scene.rules.onBegin = () => begun++;
    await stage.until(() => begun >= AT_ONCE, BEGUN);
    scene.rules.onBegin = undefined;
    slot.process?.end();
    fleet.begin(slot);
  }
  await stage.assertHandled(HANDLED, 'a process has crashed');
}
