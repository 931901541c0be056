import { beforeEach, describe, expect, it } from 'vitest';
import type { TopicLimits } from '../../../lib/store/deliveries/limits.js';
import type { NewMessage } from '../../../lib/store/messages/publish.js';
import type { CallId } from '../../../lib/store/partition.js';
import { EmbeddedBroker } from '../../../lib/engines/embedded/embedded.broker.js';
import type { Stores } from '../../../lib/store/store-broker.js';
import { StoreBroker } from '../../../lib/store/store-broker.js';
import type { Driver } from '../../../lib/store/driver.interface.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { FAILURE, LONG } from '../../support/broker/broker-bed.js';
import { Claimant } from '../../support/broker/claimant.js';

const PARTITION = { topic: 'a', index: 0 };
const OLD: TopicLimits = { inFlight: { topic: 5 } };
const NEW: TopicLimits = { inFlight: { topic: 2 } };

let clock: ManualClock;
/** What other processes do. */
let broker: EmbeddedBroker;
/** Those of the process whose calls come a second time. */
let operations: Stores;
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
  const calls: Pick<Driver, 'run' | 'call'> = {
    run: async (name, place, given) => make(async () => broker.driver.run(name, place, given)),
    call: async (keys, command) => make(async () => broker.driver.call(keys, command)),
  };
  operations = new StoreBroker({ driver: calls as Driver, keys: broker.keys, subscribe: () => async () => {} });
  arriveAgain = async () => {
    for (const call of made.splice(0).toReversed()) await call().catch(() => {});
  };
});

describe('a delayed copy of a call about the fleet', () => {
  it('that set the limits of a topic brings none back', async () => {
    await broker.fleet.configure('a', 3);
    await operations.fleet.setTerms('a', { limits: OLD });
    await broker.fleet.setTerms('a', { limits: NEW });
    await arriveAgain();
    expect(await broker.fleet.configOf('a')).toMatchObject({ limits: NEW });
    expect(await broker.fleet.configsOf(['a'])).toMatchObject([{ limits: NEW }]);
  });

  it('that set the limits of a topic brings none back into the second copy, even if that is again as it was seen', async () => {
    await broker.fleet.configure('a', 3, undefined, { limits: OLD });
    await operations.fleet.setTerms('a', { limits: NEW });
    await broker.fleet.setTerms('a', { limits: OLD });
    await arriveAgain();
    expect(await broker.fleet.configsOf(['a'])).toMatchObject([{ limits: OLD }]);
  });

  it('that took a schedule off the list leaves it there once it was put there again', async () => {
    const schedule = { id: 's', topic: 'a', key: 'k' };
    await broker.schedules.indexSchedule(schedule);
    await operations.schedules.unindexSchedule(schedule);
    await broker.schedules.indexSchedule(schedule);
    await arriveAgain();
    expect(await broker.schedules.findSchedule(schedule)).toEqual({ topic: 'a', key: 'k' });
  });

  it('that put a schedule on the list brings it not back once it was removed', async () => {
    const schedule = { id: 's', topic: 'a', key: 'k' };
    await operations.schedules.indexSchedule(schedule);
    await broker.schedules.unindexSchedule(schedule);
    await arriveAgain();
    expect(await broker.schedules.findSchedule(schedule)).toBeUndefined();
  });

  it('that forgot a session leaves it there once it has come back', async () => {
    const heartbeat = { session: 's', count: 1, length: LONG, digest: 'd' };
    await broker.fleet.heartbeat(heartbeat);
    await operations.fleet.forget(['s']);
    await broker.fleet.heartbeat({ ...heartbeat, count: 2 });
    await arriveAgain();
    expect(await broker.fleet.sessions()).toMatchObject([{ session: 's', count: 2 }]);
  });
});

const stored = async (): Promise<unknown> => broker.messages.get(PARTITION, 'm');

describe('a delayed copy of a call about a message', () => {
  const MESSAGE: NewMessage = { storedId: 'm', envelope: '[1,"m"]', due: { after: 0 }, onDuplicate: 'reject' };
  let claimant: Claimant;
  let sequence: number;
  const nextCall = (): CallId => ({ caller: 'test', sequence: ++sequence });

  beforeEach(async () => {
    sequence = 0;
    claimant = new Claimant(broker, PARTITION);
    await claimant.acquire();
    await broker.messages.publish(PARTITION, nextCall(), [MESSAGE]);
  });

  it.each([
    [LONG, 2 * LONG],
    [2 * LONG, LONG],
  ])('that had its lease last for %i ms leaves it alone once it was to last for %i ms', async (first, second) => {
    const { messages } = await claimant.claim({ lease: LONG });
    await operations.deliveries.extend(PARTITION, first, messages);
    await operations.deliveries.extend(PARTITION, second, messages);
    const before = await stored();
    await clock.advance(1);
    await arriveAgain();
    expect(await stored()).toEqual(before);
  });

  it('that set it aside leaves it alone once it was requeued', async () => {
    await operations.deliveries.setAside(PARTITION, { storedId: 'm', token: '0' }, FAILURE);
    const { letters } = await broker.deadLetters.listDead(PARTITION, { limit: 1, withFailures: false });
    await broker.deadLetters.requeueDead(PARTITION, nextCall(), letters, 0);
    await arriveAgain();
    expect(await stored()).toMatchObject({ state: 'scheduled' });
  });

  it('that removed dead letters beyond the limits of then removes none that died since', async () => {
    await operations.deadLetters.trimDead(PARTITION, { maxCount: 0 });
    await broker.deliveries.setAside(PARTITION, { storedId: 'm', token: '0' }, FAILURE);
    await arriveAgain();
    expect(await stored()).toMatchObject({ state: 'dead' });
  });
});
