import type { DelayQueueAdmin } from '../../lib/admin/delay-queue.admin.js';
import type { ExplainCause } from '../../lib/admin/explain-causes.js';
import type { Limits } from '../../lib/store/deliveries/limits.js';
import type { ProcessState } from '../../lib/store/records/process-records.js';
import { SystemClock } from '../../lib/time/clock.js';
import { ACK, type BrokerBed, DEAD, LONG, PUT_OFF, RETRY, RETRY_LATER, message } from '../support/broker/broker-bed.js';
import { publishAll } from '../support/broker/ordered-messages.js';
import { testAdmin } from '../support/units/admin.js';

const DIGEST = 'its-topics';

/** The topic has one partition, whose owner lives and handles it. */
export async function handled(bed: BrokerBed): Promise<DelayQueueAdmin> {
  await known(bed);
  await beat(bed);
  return testAdmin(bed.broker, new SystemClock());
}

/** The topic has one partition. */
export async function known({ broker, partition: { topic } }: BrokerBed): Promise<void> {
  await broker.fleet.configure(topic, 1);
}

/** The owner of the partition tells that it lives, for so many milliseconds. */
export async function beat({ broker, partition: { topic } }: BrokerBed, length = LONG): Promise<void> {
  await broker.fleet.heartbeat({ session: 'owner', count: 1, length, digest: DIGEST });
  await broker.fleet.rememberTopics({ digest: DIGEST, topics: [topic] });
}

/** A seeded example of each cause. */
export const ONE_CAUSE: readonly (readonly [
  causes: readonly ExplainCause[],
  of: string,
  seed: (bed: BrokerBed) => Promise<unknown>,
  advice: RegExp,
])[] = [
  [['unknown-id'], 'an id that nobody has published', async () => {}, /^There is no such message: .* never published/],
  [
    ['dead'],
    'a dead letter',
    async (bed) => bed.settled('a', DEAD),
    /^It is a dead letter since .* \(failed, Error\)\..* Mend their cause, then requeue it\.$/,
  ],
  [
    ['running'],
    'a message that is handled',
    async (bed) => bed.deliver('a'),
    /^owner handles it, since \S+Z at the earliest, and/,
  ],
  [
    ['running'],
    'a message that was cancelled while it is handled',
    async (bed) => {
      await bed.deliver('a');
      await bed.cancel('a');
    },
    /It was cancelled meanwhile/,
  ],
  [
    ['running'],
    'a message that is handled by whoever owned the partition before',
    async (bed) => {
      await bed.deliver('a');
      await bed.broker.fleet.acquire(bed.partition, 'another owner', bed.owner);
    },
    /^A process handles it that does not own its partition any more, or has ended/,
  ],
  [
    ['retrying', 'not-due'],
    'a message that waits for its next attempt',
    async (bed) => bed.settled('a', RETRY_LATER),
    /^Attempt 1 has failed \(Error: boom\), and the next one is due at /,
  ],
  [
    ['not-due'],
    'a message for later',
    async (bed) => bed.publish('a', { due: { after: LONG } }),
    /^It is due at \S+\. If that is not right, run it now/,
  ],
  [
    ['not-due'],
    'a message that was put off',
    async (bed) => bed.settled('a', PUT_OFF),
    /^It was delivered before, and is due again at /,
  ],
  [
    ['paused'],
    'a message of a paused topic',
    async (bed) => {
      await bed.publish('a');
      await bed.broker.deliveries.pause(bed.partition, bed.nextCall());
    },
    /^The topic is paused: .* before it is resumed\.$/,
  ],
  [
    ['no-consumer', 'owner-silent'],
    'a message of a topic that nobody handles any more',
    async (bed) => {
      await bed.publish('a');
      await bed.broker.fleet.leave({ session: 'owner', count: 2, length: LONG, digest: DIGEST });
    },
    /nobody receives it\. owner, which had partition 0 last, sends no heartbeats: .* Start a process that has @DelayedHandler/,
  ],
  [
    ['no-owner'],
    'a message whose partition was released',
    async (bed) => {
      await bed.publish('a');
      await bed.broker.fleet.release(bed.partition, bed.owner);
    },
    /^No process owns partition 0\. One of those that handle the topic takes it/,
  ],
  [
    ['owner-silent'],
    'a message whose partition belongs to a process that has died',
    async (bed) => {
      await bed.publish('a');
      await bed.broker.fleet.acquire(bed.partition, 'epoch2 dead-process', bed.owner);
    },
    /^dead-process, which owns partition 0, sends no heartbeats/,
  ],
  [
    ['behind'],
    'a message that comes after others',
    async (bed) => bed.publishAll([message('0'), message('1'), message('a')]),
    /^2 messages of partition 0 come before it\. It is handled as soon as those are/,
  ],
  [['behind'], 'the next message', async (bed) => bed.publish('a'), /^It is the next one of partition 0\./],
  [
    ['behind'],
    'a message whose attempt has failed, and whose backoff is over',
    async (bed) => {
      await bed.settled('a', RETRY);
      await bed.advance(2);
    },
    /^It is the next one/,
  ],
  [
    ['behind'],
    'a message whose delivery has crashed',
    async (bed) => {
      await bed.deliver('a', { lease: 5 });
      await bed.advance(10);
    },
    /^It is the next one .* Its last delivery ended with its lease/,
  ],
  [
    ['behind'],
    'a message that has crashed before',
    async (bed) => {
      await bed.deliver('a', { lease: 5 });
      await bed.advance(10);
      await bed.claim({ lease: 5 });
      await bed.advance(10);
    },
    /Its last 2 deliveries ended with their leases/,
  ],
  [
    ['behind'],
    'a message whose owner is busy',
    async (bed) => {
      await bed.publishAll([message('0'), message('a')]);
      await reportState(bed, { busy: 3, waiting: 1 });
    },
    /^1 message of partition 0 comes before it\. owner has 3 of 3 handler calls under way: raise 'concurrency'/,
  ],
  [
    ['behind'],
    'a message whose handler has no call left, though its process has',
    async (bed) => {
      await bed.publishAll([message('a')]);
      await reportState(bed, { busy: 2, waiting: 1 });
    },
    /^It is the next one .* owner has 2 of 3 handler calls under way, and yet 1 partition waits: as many calls of one handler/,
  ],
  [
    ['finished'],
    'a message that was handled, and is kept',
    async (bed) => {
      bed.finished = { maxAge: LONG };
      await bed.settled('a', ACK);
    },
    /^It was handled, and acknowledged at \S+\. It is kept with its story\.$/,
  ],
  [
    ['rate-limited'],
    'a message of a topic that is held',
    async (bed) => {
      await bed.publish('a');
      await bed.broker.deliveries.hold(bed.partition, bed.nextCall(), LONG);
    },
    /^The topic is held, .*: nothing of it begins before \d\S+Z, or before it is resumed\.$/,
  ],
  [
    ['rate-limited'],
    'a message whose key has a rate',
    async (bed) => {
      bed.keyLimits = { rate: { max: 1, per: LONG } };
      await publishAll(bed, '0\0k', 'a\0k');
      await bed.claim();
    },
    /^As many deliveries of its key have begun as 'rateLimit' allows/,
  ],
  [
    ['rate-limited'],
    'the head of an ordered key that has a rate',
    async (bed) => {
      bed.order = 'continue';
      bed.keyLimits = { rate: { max: 1, per: LONG } };
      await publishAll(bed, '0\0k', 'a\0k');
      await bed.settle(await bed.claimOne(), ACK);
      await bed.claim();
    },
    /^As many deliveries of its key have begun/,
  ],
  [
    ['max-in-flight'],
    'a message whose key may have one in flight',
    async (bed) => {
      bed.keyLimits = { inFlight: 1 };
      await publishAll(bed, '0\0k', 'a\0k');
      await bed.claim();
    },
    /^As many messages of its key are in flight as 'maxInFlight' allows/,
  ],
  [
    ['rate-limited'],
    'a message of a topic that has a rate',
    async (bed) => {
      await bed.publish('a');
      await waitForPermits(bed, { rate: { max: 1, per: LONG } });
    },
    /^As many deliveries of the topic have begun/,
  ],
  [
    ['max-in-flight'],
    'a message of a topic that may have one in flight',
    async (bed) => {
      await bed.publish('a');
      await waitForPermits(bed, { inFlight: 1 });
    },
    /^As many messages of the topic are in flight/,
  ],
  [
    ['no-consumer', 'no-owner'],
    'a message that expires while no process handles its topic',
    async (bed) => {
      await bed.broker.fleet.release(bed.partition, bed.owner);
      await bed.broker.fleet.leave({ session: 'owner', count: 2, length: LONG, digest: DIGEST });
      await bed.publishAll([message('a', { envelope: '[1,2,{"e":5}]' })]);
      await bed.advance(10);
    },
    /It has expired at \S+: the next process .* makes it a dead letter\.$/,
  ],
  [
    ['starved'],
    'a message of a topic whose owner comes too late for what its limits permit',
    async (bed) => {
      await bed.publish('a');
      await reportState(bed, { starved: [bed.partition.topic] });
    },
    /^What the limits of topic '.*' permit is over before owner can call its handler/,
  ],
];

/** The owner tells how it is. */
async function reportState({ broker }: BrokerBed, fields: Partial<ProcessState>): Promise<void> {
  const state = { since: 1, version: '1', clockOffset: 0, concurrency: 3, busy: 0, waiting: 0, ...fields };
  await broker.records.report({ session: 'owner', number: 1, state });
}

/** The owner has one permit, and waits for another. */
async function waitForPermits({ broker, partition: { topic } }: BrokerBed, limits: Limits): Promise<void> {
  const { rate, inFlight } = limits;
  await broker.fleet.setTerms(topic, {
    limits: {
      rate: rate && { ...rate, by: 'topic' },
      inFlight: inFlight === undefined ? undefined : { topic: inFlight },
    },
  });
  const request = { session: 'owner', sequence: 1, limits, held: 0, idle: 0, wanted: 2 };
  await broker.deliveries.permit(topic, { ...request, lease: LONG, patience: LONG, returned: [] });
}
