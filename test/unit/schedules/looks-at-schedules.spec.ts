import { describe, expect, it } from 'vitest';
import type { StoredMessage } from '../../../lib/store/messages/stored-message.js';
import { wrapBroker } from '../../../lib/store/wrap-broker.js';
import { BrokerUnavailableError } from '../../../lib/errors/operation.errors.js';
import { ConfigurationError } from '../../../lib/errors/options.errors.js';
import { partitionOf } from '../../../lib/messages/partitioner.js';
import { DelayQueueSchedules } from '../../../lib/schedules/delay-queue.schedules.js';
import { lastRuns } from '../../../lib/schedules/last-runs.js';
import type { Schedule } from '../../../lib/schedules/schedule.interface.js';
import { testRegistry } from '../../support/units/handling.js';
import { TICK, dependenciesOf, setUp } from '../../support/units/schedules.js';

const inTwo = (words: string): string[] => words.split(' ');

const refused = async (): Promise<never> => Promise.reject(new BrokerUnavailableError('The shard is away.'));

/** One topic has other partitions than this process is told, and of another one a partition is away. `a` and `j` are in one partition. */
async function partlyAway() {
  const { schedules, embedded, clock } = setUp();
  await embedded.fleet.configure('others', 3);
  for (const [topic = '', id = ''] of ['jobs j', 'jobs a', 'others c', 'others b', 'away e', 'away f'].map(inTwo)) {
    await schedules.upsert({ ...TICK, topic, id });
  }
  const gone = partitionOf('e', 8);
  const broker = wrapBroker(embedded, async ({ operation, args, run }) => {
    if (operation !== 'getSchedules' || args[0].topic !== 'away' || args[0].index !== gone) return run();
    return refused();
  });
  const registry = testRegistry({ broker, clock });
  const settings = { ...registry.settings('jobs'), partitions: 8 };
  const topics = testRegistry({ broker, clock }, { settingsOf: () => settings });
  return { clock, schedules: new DelayQueueSchedules({ ...dependenciesOf(broker, clock), topics }) };
}

describe('the list of all', () => {
  it('tells what can be told, and names the rest', async () => {
    const { schedules, clock } = await partlyAway();
    const [known] = await Promise.all([schedules.listKnown(), clock.advance(1000)]);
    expect(known.schedules.map(({ id }) => id)).toEqual(['a', 'f', 'j']);
    expect(known.failed).toEqual([
      { topic: 'others', ids: ['b', 'c'], error: expect.any(ConfigurationError) as unknown },
      { topic: 'away', ids: ['e'], error: expect.any(BrokerUnavailableError) as unknown },
    ]);
  });

  it.each(['list', 'prune'] as const)('is whole for %s(), or fails', async (method) => {
    const { schedules, clock } = await partlyAway();
    const [error] = await Promise.all([schedules[method]().catch((reason: unknown) => reason), clock.advance(1000)]);
    expect(error).toBeInstanceOf(ConfigurationError);
  });
});

describe('the latest occurrences', () => {
  const LAST = new Date(1_000_000);
  const message = { attempts: 0, failure: { name: 'Error' } };

  it.each<[outcome: string, message: object | undefined, failure?: string]>([
    ['waiting', { ...message, state: 'scheduled' }],
    ['failed', { ...message, state: 'scheduled', attempts: 1 }, 'Error'],
    ['running', { ...message, state: 'in-flight' }],
    ['dead', { ...message, state: 'dead' }, 'Error'],
    ['acked', { ...message, state: 'finished', ending: { outcome: 'acked' } }],
    ['unknown', undefined],
  ])('say what became of them: %s', async (outcome, stored, failure) => {
    const schedule = { id: 'tick', topic: 'jobs', partition: 0, key: 'k', last: LAST } as Schedule;
    const runs = await lastRuns([schedule], async () => stored as StoredMessage | undefined);
    expect(runs).toEqual([{ id: 'tick@1970-01-01T00:16:40.000Z', key: 'k', outcome, failure }]);
  });

  it('cost one call for each schedule that has one, and say nothing of what does not answer', async () => {
    const world = setUp();
    const tick = await world.schedules.upsert({ ...TICK, options: { key: 'k' } });
    const looks: unknown[] = [];
    world.around = async ({ operation, args, run }) => {
      looks.push([operation, ...args]);
      return args[1] === 'gone@1970-01-01T00:16:40.000Z\0k' ? refused() : run();
    };
    const ran = { ...tick, last: LAST };
    const [[never, one, gone]] = await Promise.all([
      world.schedules.lastRuns([tick, ran, { ...ran, id: 'gone' }]),
      world.clock.advance(1000),
    ]);
    expect(looks[0]).toEqual(['get', { topic: 'jobs', index: tick.partition }, 'tick@1970-01-01T00:16:40.000Z\0k']);
    expect([never, one, gone]).toMatchObject([
      undefined,
      { id: 'tick@1970-01-01T00:16:40.000Z', outcome: 'unknown' },
      undefined,
    ]);
  });
});
