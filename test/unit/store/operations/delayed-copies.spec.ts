import { beforeEach, describe, expect, it } from 'vitest';
import type { CallId, NewMessage, TopicLimits } from '../../../../lib/store/broker.interface.js';
import { EmbeddedBroker } from '../../../../lib/engines/embedded/embedded.broker.js';
import { RedisOperations } from '../../../../lib/store/operations/operations.js';
import { PartitionWatchers } from '../../../../lib/store/partition-watchers.js';
import type { Calls } from '../../../../lib/store/driver.interface.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { FAILURE, LONG } from '../../../support/broker/broker-bed.js';
import { Claimant } from '../../../support/broker/claimant.js';

const PARTITION = { topic: 'a', index: 0 };
const OLD: TopicLimits = { inFlight: { topic: 5 } };
const NEW: TopicLimits = { inFlight: { topic: 2 } };

let clock: ManualClock;
/** What other processes do. */
let broker: EmbeddedBroker;
/** Those of the process whose calls come a second time. */
let operations: InstanceType<typeof RedisOperations>;
/** All of its calls so far arrive once more, the latest first; their answers are nobody's. */
let arriveAgain: () => Promise<void>;

beforeEach(() => {
  clock = new ManualClock();
  broker = new EmbeddedBroker(clock);
  const made: (() => Promise<unknown>)[] = [];
  const make = async <T>(call: () => Promise<T>): Promise<T> => {
    made.push(call);
    return call();
  };
  const calls: Pick<Calls, 'run' | 'call'> = {
    run: async (name, place, given) => make(async () => broker.calls.run(name, place, given)),
    call: async (keys, command) => make(async () => broker.calls.call(keys, command)),
  };
  operations = new RedisOperations({ calls: calls as Calls, keys: broker.keys, watchers: new PartitionWatchers() });
  arriveAgain = async () => {
    for (const call of made.splice(0).toReversed()) await call().catch(() => {});
  };
});

describe('a delayed copy of a call about the fleet', () => {
  it('that set the limits of a topic brings none back', async () => {
    await broker.configure('a', 3);
    await operations.setTerms('a', { limits: OLD });
    await broker.setTerms('a', { limits: NEW });
    await arriveAgain();
    expect(await broker.configOf('a')).toMatchObject({ limits: NEW });
    expect(await broker.configsOf(['a'])).toMatchObject([{ limits: NEW }]);
  });

  it('that set the limits of a topic brings none back into the second copy, even if that is again as it was seen', async () => {
    await broker.configure('a', 3, undefined, { limits: OLD });
    await operations.setTerms('a', { limits: NEW });
    await broker.setTerms('a', { limits: OLD });
    await arriveAgain();
    expect(await broker.configsOf(['a'])).toMatchObject([{ limits: OLD }]);
  });

  it('that took a schedule off the list leaves it there once it was put there again', async () => {
    const schedule = { id: 's', topic: 'a', key: 'k' };
    await broker.indexSchedule(schedule);
    await operations.unindexSchedule(schedule);
    await broker.indexSchedule(schedule);
    await arriveAgain();
    expect(await broker.findSchedule(schedule)).toEqual({ topic: 'a', key: 'k' });
  });

  it('that put a schedule on the list brings it not back once it was removed', async () => {
    const schedule = { id: 's', topic: 'a', key: 'k' };
    await operations.indexSchedule(schedule);
    await broker.unindexSchedule(schedule);
    await arriveAgain();
    expect(await broker.findSchedule(schedule)).toBeUndefined();
  });

  it('that forgot a session leaves it there once it has come back', async () => {
    const heartbeat = { session: 's', count: 1, length: LONG, digest: 'd' };
    await broker.heartbeat(heartbeat);
    await operations.forget(['s']);
    await broker.heartbeat({ ...heartbeat, count: 2 });
    await arriveAgain();
    expect(await broker.sessions()).toMatchObject([{ session: 's', count: 2 }]);
  });
});

const stored = async (): Promise<unknown> => broker.get(PARTITION, 'm');

describe('a delayed copy of a call about a message', () => {
  const MESSAGE: NewMessage = { storedId: 'm', envelope: '[1,"m"]', due: { after: 0 }, onDuplicate: 'reject' };
  let claimant: Claimant;
  let sequence: number;
  const nextCall = (): CallId => ({ caller: 'test', sequence: ++sequence });

  beforeEach(async () => {
    sequence = 0;
    claimant = new Claimant(broker, PARTITION);
    await claimant.acquire();
    await broker.publish(PARTITION, nextCall(), [MESSAGE]);
  });

  it.each([
    [LONG, 2 * LONG],
    [2 * LONG, LONG],
  ])('that had its lease last for %i ms leaves it alone once it was to last for %i ms', async (first, second) => {
    const { messages } = await claimant.claim({ lease: LONG });
    await operations.extend(PARTITION, first, messages);
    await operations.extend(PARTITION, second, messages);
    const before = await stored();
    await clock.advance(1);
    await arriveAgain();
    expect(await stored()).toEqual(before);
  });

  it('that set it aside leaves it alone once it was requeued', async () => {
    await operations.setAside(PARTITION, { storedId: 'm', token: '0' }, FAILURE);
    const { letters } = await broker.listDead(PARTITION, { limit: 1, withFailures: false });
    await broker.requeueDead(PARTITION, nextCall(), letters, 0);
    await arriveAgain();
    expect(await stored()).toMatchObject({ state: 'scheduled' });
  });

  it('that removed dead letters beyond the limits of then removes none that died since', async () => {
    await operations.trimDead(PARTITION, { maxCount: 0 });
    await broker.setAside(PARTITION, { storedId: 'm', token: '0' }, FAILURE);
    await arriveAgain();
    expect(await stored()).toMatchObject({ state: 'dead' });
  });
});
