import { TOPICS, publishedTopics } from '../fleet/topics.js';
import type { Shard } from '../redis/shard.js';
import type { Stage } from './stage.js';

/** How long a fleet takes at most until it has stored again what Redis has lost, and until it handles messages again, in milliseconds. */
export const STORED_AGAIN = 30_000;
export const HANDLED_AGAIN = 30_000;

/** What a fleet stores of itself, by what stands behind the hash tags. */
const OF_FLEET = new Set(['config', 'owner', 'sessions', 'handled', 'topics', 'processes', 'holdings']);

/** Redis loses all while the fleet runs, which stores all of itself again though nobody publishes anything. */
export async function flushFleet(stage: Stage): Promise<void> {
  const before = keysOfFleet(stage);
  const { length } = stage.running;
  flush(stage);
  const missing = (): string[] => {
    const stored = keysOfFleet(stage);
    return [...before].filter((key) => !stored.has(key));
  };
  await stage.wait(STORED_AGAIN);
  if (missing().length > 0) {
    return stage.violated(`${missing().join(', ')} are not stored again ${STORED_AGAIN} ms after Redis has lost all`);
  }
  for (const name of ['sessions', 'processes', 'holdings']) {
    const count = Number(stage.scene.server.data.call('HLEN', `{dq:fleet}:${name}`));
    if (count < length) stage.violated(`${count} of ${length} processes are stored again in ${name}`);
  }
  await stage.publishToEach(handledTopics(stage), 'flushed');
  await stage.assertHandled(HANDLED_AGAIN, 'Redis has lost all');
}

/** Redis loses all while only a process lives that publishes: what is handled later is stored as it was. */
export async function flushProducers(stage: Stage): Promise<void> {
  const { fleet, scene } = stage;
  for (const slot of fleet.slots) slot.process?.end();
  fleet.slots[0]?.startProducer().catch((error: unknown) => scene.rules.failed('a producer starts', error));
  await stage.until(() => stage.running.length > 0, HANDLED_AGAIN);
  flush(stage);
  await stage.publishToEach(handledTopics(stage), 'produced');
  await stage.wait(HANDLED_AGAIN);
  const stored = keysOfFleet(stage);
  const missing = handledTopics(stage).filter((topic) => !stored.has(`{dq:${topic}}:config`));
  if (missing.length > 0) stage.violated(`nobody has configured ${missing.join(', ')} again`);
  for (const slot of fleet.slots.slice(1)) fleet.begin(slot);
  await stage.assertHandled(HANDLED_AGAIN, 'a fleet has started');
}

/** Redis loses all while a limit is in use by one process, and others want it, too. */
export async function flushPermits(stage: Stage): Promise<void> {
  const [topic] = stage.handled('limited');
  if (topic === undefined) return;
  const publish = async (name: string): Promise<void> => {
    for (let i = 0; i < 10; i++) await stage.publish(topic, `${name}-${i}`, { takes: 1500 });
  };
  await publish('used');
  flush(stage);
  await publish('wanted');
  await stage.assertHandled(HANDLED_AGAIN, 'Redis has lost all permits');
}

/** @param shard which loses all; all of them if there is none */
export function flush({ scene: { server, rules, world } }: Stage, shard?: Shard): void {
  const isLost = (key: string): boolean => !shard || server.placement.of(key) === shard;
  for (const key of server.data.keys) if (isLost(key)) server.data.call('DEL', key);
  rules.redisLost(-Infinity, isLost);
  world.trace('redis', shard ? `shard ${shard.index} has lost all` : 'has lost all');
}

/** What is stored of it. */
export function keysOfFleet({ scene }: Stage): Set<string> {
  return new Set(scene.server.data.keys.filter((key) => OF_FLEET.has(/\}:([a-z]+)$/.exec(key)?.[1] ?? '')));
}

/** Those that something is published to which a handler gets. */
export function handledTopics({ scene }: Stage): string[] {
  return publishedTopics(scene.topics).filter((topic) => !TOPICS[topic]?.received);
}
