import { type ConnectedDelayQueueAdmin, DelayQueueError } from 'nestjs-delay-queue';
import { HostileWriter } from '../hostile-writer.js';
import { PREFIX, TOPIC } from '../programs/config.js';
import { startFleet } from './process-scenarios.js';
import type { Scenario } from './scenario.js';

/** How many records are written between two looks at the keys. */
const RECORDS_A_ROUND = 50;

/** How many rounds go by between two keys that are replaced as a whole. */
const ROUNDS_AN_OVERWRITE = 4;

/** @param count how many records are written */
const hostile = (count: number, scenario: Omit<Scenario, 'run'>): Scenario => ({
  ...scenario,
  async run(world) {
    world.isOrderDamaged = true;
    await startFleet(world, { fleetEvents: true }, scenario.ordered ? { keys: 100 } : {});
    const writer = new HostileWriter(world.client, world.random, PREFIX);
    const admin = await world.admin();
    await world.pause(500, 700);
    const config = await world.client.hgetall(CONFIG);
    for (let round = 0; round * RECORDS_A_ROUND < count; round++) {
      await writer.look();
      for (let i = 0; i < RECORDS_A_ROUND; i++) {
        await writer.write();
        await world.pause(0, 6);
      }
      if (round % ROUNDS_AN_OVERWRITE === 1) world.excuse(await writer.overwrite());
      await administer(admin);
      // As the error that says so asks of whoever operates it.
      await world.client.hset(CONFIG, config);
      world.assertAlive();
    }
    console.log(`hostile records, seed ${world.random.seed}: ${JSON.stringify(Object.fromEntries(writer.written))}`);
    await world.pause(500, 700);
    await administer(admin);
  },
});

export const hostileRecords = hostile(500, {
  name: 'hostile-records',
  shows: 'another program writes records of any content under every key',
  length: 'short',
});

export const manyHostileRecords = hostile(10_000, {
  name: 'many-hostile-records',
  shows: 'another program writes very many records of any content under every key',
  length: 'long',
});

export const hostileOrder = hostile(2000, {
  name: 'hostile-order',
  shows: 'another program writes records of any content under every key of an ordered topic',
  length: 'long',
  ordered: true,
});

const CONFIG = `{${PREFIX}:${TOPIC}}:config`;

/** Everything that an operator may do meanwhile is done, or refused with an error of the library. */
async function administer(admin: ConnectedDelayQueueAdmin): Promise<void> {
  const letters = await attempt('peek', async () => admin.peek(TOPIC, 'dead'));
  const [letter] = letters?.messages ?? [];
  if (letter) await attempt('get', async () => admin.get(TOPIC, { id: letter.id, key: letter.key }));
  for (const state of ['scheduled', 'in-flight'] as const) {
    await attempt('peek', async () => admin.peek(TOPIC, state));
  }
  await attempt('topics', async () => admin.topics());
  await attempt('stats', async () => admin.stats(TOPIC));
  await attempt('deadLetterGroups', async () => admin.deadLetterGroups(TOPIC));
  await attempt('requeue', async () => admin.requeue(TOPIC, { reason: 'undecodable', until: Date.now() - 3000 }));
  await attempt('remove', async () => admin.remove(TOPIC, { reason: 'invalid' }));
  await attempt('purge', async () => admin.purge(TOPIC));
}

async function attempt<T>(name: string, call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof DelayQueueError) return undefined;
    throw new Error(`${name} failed with what is no error of the library`, { cause: error });
  }
}
