import type { Scene } from '../fleet/scene.js';
import type { Stage } from './stage.js';

const KEYS = 6;

/** After how long what is shared is due, all at once, in milliseconds. */
const DELAY = 5000;

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

/** How many messages of each partition there are to share, and how many of one are handled at most before one of another. */
const MANY = 60;
const MOST_IN_A_ROW = 40;

/** How long all of them take at most, in milliseconds. */
const HANDLED = 60_000;

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
  const partitions = new Map<string, number>();
  const counts = [0, 0];
  for (let i = 0; counts.some((count) => count < MANY); i++) {
    const { id, partition } = await stage.publish(topic, `shared-${i}`, { takes }, { delay: DELAY });
    partitions.set(id, partition);
    counts[partition] = (counts[partition] ?? 0) + 1;
  }
  let inARow = 0;
  let latest: number | undefined;
  rules.onBegin = ({ id }) => {
    const partition = partitions.get(id);
    inARow = partition === latest ? inARow + 1 : 1;
    latest = partition;
    // Then there is something of the others, too.
    if (inARow > MOST_IN_A_ROW) stage.violated(`${inARow} of partition ${partition} of ${topic} are handled in a row`);
  };
  await stage.until(() => rules.messages.waiting(topic) < MANY, HANDLED);
  rules.onBegin = undefined;
  await stage.assertHandled(HANDLED, 'many messages were published');
}
