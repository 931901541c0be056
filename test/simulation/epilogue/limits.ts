import type { Scene } from '../fleet/scene.js';
import type { Holder } from '../rules/run.js';
import type { Stage } from './stage.js';

const KEYS = 6;

/** How soon changed limits hold everywhere, and how long a deploy takes at most, in milliseconds. */
const IN_FORCE = 15_000;
const DEPLOY = 20_000;

/** A deploy makes a limit of keys much narrower, and the next one takes that back: what waits for the narrow one goes on at once. */
export async function changeLimits(stage: Stage): Promise<void> {
  const topics = stage.handled('rated-keys', 'rated');
  if (topics.length === 0) return;
  await deploy(stage, {
    'rated-keys': { rateLimit: { max: 1, per: 600_000, by: 'key' } },
    rated: { rateLimit: { max: 1, per: 600_000 } },
  });
  for (const topic of topics) {
    for (let key = 0; key < KEYS; key++) {
      for (let i = 0; i < 3; i++) await stage.publish(topic, `narrow-${topic}-${key}`);
    }
  }
  await stage.wait(IN_FORCE);
  await deploy(stage, {});
  await stage.assertHandled(IN_FORCE, 'a limit was widened');
}

async function deploy({ fleet, scene }: Stage, deployed: Scene['deployed']): Promise<void> {
  scene.deployed = deployed;
  const [slot] = fleet.slots;
  const before = slot?.process;
  if (slot) fleet.restart(slot);
  const { world } = scene;
  await world.runUntil(() => slot?.process !== before && slot?.process?.connection !== undefined, world.now + DEPLOY);
}

const MANY = 100;


/** All processes that own a part of a topic with a rate have a share of it. */
export async function shareRate(stage: Stage): Promise<void> {
  await assertShares(stage, 'rated', 0);
}

/** The same of a topic of which few messages may be in flight. */
export async function shareFlight(stage: Stage): Promise<void> {
  await assertShares(stage, 'limited', 100);
}

async function assertShares(stage: Stage, topic: string, takes: number): Promise<void> {
  const { rules } = stage.scene;
  if (stage.handled(topic).length === 0) return;
  const begun = new Map<Holder, number>();
  rules.onBegin = ({ process }) => begun.set(process, (begun.get(process) ?? 0) + 1);
  for (let i = 0; i < MANY; i++) await stage.publish(topic, `shared-${i}`, { takes });
  await stage.until(() => rules.messages.open < MANY / 3, 60_000);
  rules.onBegin = undefined;
  stage.scene.world.trace(
    'rules',
    `shares ${[...begun].map(([process, count]) => `${process.name} ${count}`).join(', ')}`,
  );
  await stage.assertHandled(60_000, 'many messages were published');
}
