import type { Scene } from '../fleet/scene.js';
import { type Run, isCurrent } from '../rules/run.js';
import type { Stage } from './stage.js';

/** How many keys have messages of a topic, and of one that has a limit for each of them: more than some claims take. */
const KEYS = 6;
const MANY_KEYS = 150;

/** After how long what is shared is due, all at once, in milliseconds. */
const DELAY = 5000;

/** How soon changed limits hold everywhere, in milliseconds. */
const IN_FORCE = 15_000;

/** A deploy makes a limit of keys much narrower, and the next one takes that back: what waits for the narrow one goes on at once. */
export async function changeLimits(stage: Stage): Promise<void> {
  const topics = stage.handled('rated-keys', 'rated');
  if (topics.length === 0) return;
  await deploy(stage, {
    'rated-keys': { rateLimit: { max: 1, per: 600_000, by: 'key' } },
    rated: { rateLimit: { max: 1, per: 600_000 } },
  });
  for (const topic of topics) {
    for (let key = 0; key < (topic === 'rated' ? KEYS : MANY_KEYS); key++) {
      for (let i = 0; i < 3; i++) await stage.publish(topic, `narrow-${topic}-${key}`);
    }
  }
  await stage.wait(IN_FORCE);
  await deploy(stage, {});
  await stage.assertHandled(IN_FORCE, 'a limit was widened');
}

/** How many are in flight one after the other while that is narrowed, for how long each, no two alike, and all of them at most, in milliseconds. */
const BUSY = 80;
const TAKES = 600;
const LONGER = 7;
const BUSY_FOR = 120_000;

/** A deploy lets fewer messages be in flight, while one process is busy and no other waits: that holds for it, too. */
export async function lowerFlight(stage: Stage): Promise<void> {
  const [topic] = stage.handled('limited');
  if (topic === undefined) return;
  const { rules } = stage.scene;
  for (let i = 0; i < BUSY; i++) await stage.publish(topic, 'narrowed', { takes: TAKES + i * LONGER });
  await deploy(stage, { [topic]: { maxInFlight: { topic: 1 } } });
  await stage.wait(IN_FORCE);
  const runs = new Set<Run>();
  rules.onBegin = (run) => {
    for (const one of runs) if (!isCurrent(one)) runs.delete(one);
    runs.add(run);
    if (runs.size > 1) stage.violated(`${runs.size} of ${topic} run at once, and 1 may since the deploy`);
  };
  await stage.assertHandled(BUSY_FOR, 'fewer may be in flight');
  rules.onBegin = undefined;
}

/** How long a process stands still whose turn it is, and how long nothing begins at most since others have to wait for it, in milliseconds. */
const STANDSTILL = 2500;
const LONGEST_WAIT = 1500;

/** One message may be in flight, and the process whose turn it is stands still: the other goes on. */
export async function standInLine(stage: Stage): Promise<void> {
  const [topic] = stage.handled('limited');
  if (topic === undefined) return;
  const { rules, world } = stage.scene;
  await deploy(stage, { [topic]: { maxInFlight: { topic: 1 } } });
  await stage.wait(IN_FORCE);
  for (let i = 0; i < MANY; i++) await stage.publish(topic, `in-line-${i}`, { takes: STANDSTILL / 10 });
  const owners = stage.running.filter(({ owned }) => [0, 1].some((index) => owned.has(`${topic}:${index}`)));
  let latest = world.now;
  let longest = 0;
  rules.onBegin = ({ process }) => {
    longest = Math.max(longest, world.now - latest);
    latest = world.now;
    // It has got its turn, and the other waits for the next one.
    if (owners.length === 2) owners.find((one) => one !== process)?.freeze(STANDSTILL);
    owners.length = 0;
  };
  await stage.wait(2 * STANDSTILL);
  if (longest > LONGEST_WAIT) stage.violated(`nothing of ${topic} begins for ${Math.round(longest)} ms`);
  await stage.assertHandled(HANDLED, 'they have stood in line');
  rules.onBegin = undefined;
}

async function deploy(stage: Stage, deployed: Scene['deployed']): Promise<void> {
  stage.scene.deployed = deployed;
  await stage.restart();
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
