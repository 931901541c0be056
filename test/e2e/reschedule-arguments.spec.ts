import { type DelayQueueProducer, InvalidArgumentError } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { Jobs } from '../support/app/jobs.js';
import { Gate } from '../support/waiting.js';

const HOUR = 3_600_000;
const TEN_YEARS = 10 * 365.25 * 24 * HOUR;

type When = Parameters<DelayQueueProducer['reschedule']>[2];

const bed = useBed();

async function start() {
  // Nobody looks in time without a signal: what comes while a test waits has come by one.
  const options = { defaults: { partitions: 8 }, consumer: { maxIdleWait: '1m' } };
  const app = await bed.start({ providers: [Jobs], options });
  return { producer: app.producer, events: app.events, jobs: app.get(Jobs) };
}

async function startPublisher() {
  const { producer } = await bed.start({ options: { consumer: false, defaults: { partitions: 1 } } });
  return producer;
}

describe('rescheduling by id', () => {
  it('and key moves only the message with this key', async () => {
    const { producer } = await start();
    const deliverAt = Math.ceil(await bed.time()) + HOUR;
    const published = await Promise.all(
      ['x', 'y', 'a'].map(async (key) => producer.publish('jobs', key, { id: 'a', key, delay: '1h' })),
    );
    expect(await producer.reschedule('jobs', { id: 'a', key: 'x' }, { deliverAt })).toBe('moved');

    const dueTimes = await Promise.all(
      published.map(async ({ partition = NaN }, i) =>
        bed.partition('jobs', partition).dueAt(['a\0x', 'a\0y', 'a'][i] ?? ''),
      ),
    );
    expect(dueTimes).toEqual([deliverAt, published[1]?.dueAt.getTime(), published[2]?.dueAt.getTime()]);
  });

  it('alone finds a message with a key in another partition', async () => {
    const { producer, jobs } = await start();
    const { partition: home } = await producer.publish('jobs', 0, { id: 'a', delay: '1h' });
    await producer.cancel('jobs', 'a');
    const deliverAt = Math.ceil(await bed.time()) + HOUR;
    const places = new Set<number>();
    for (const key of Array.from({ length: 20 }, (_, i) => `key-${i}`)) {
      const { partition = NaN } = await producer.publish('jobs', 1, { id: 'a', key, delay: '2h' });
      places.add(partition);
      expect(await producer.reschedule('jobs', 'a', { deliverAt })).toBe('moved');
      expect(await bed.partition('jobs', partition).dueAt(`a\0${key}`)).toBe(deliverAt);
      expect(await producer.cancel('jobs', { id: 'a', key })).toBe('cancelled');
    }
    places.delete(home ?? NaN);
    expect(places.size).toBeGreaterThan(3);
    expect(await producer.reschedule('jobs', 'a', { deliverAt })).toBe('not-found');
    expect(jobs.calls).toEqual([]);
  });

  it('alone wakes the owner of that other partition', async () => {
    const { producer, jobs } = await start();
    await producer.publish('jobs', 1, { id: 'a', key: 'k', delay: '1h' });
    expect(await producer.reschedule('jobs', 'a', { delay: 100 })).toBe('moved');
    await jobs.called();
  });

  it('alone means the message in its own partition, if there is one', async () => {
    const { producer, jobs, events } = await start();
    const gate = new Gate();
    jobs.respond = async () => gate.opened;
    const keyed = await producer.publish('jobs', 'keyed', { id: 'a', key: 'k', delay: '1h' });
    await producer.publish('jobs', 'plain', { id: 'a', delay: '1h' });
    const dueAtOfKeyed = async () => bed.partition('jobs', keyed.partition).dueAt('a\0k');

    expect(await producer.reschedule('jobs', 'a', { delay: 0 })).toBe('moved');
    const [call] = await jobs.called();
    expect(call?.payload).toBe('plain');
    // It still means that message while it is in flight.
    expect(await producer.reschedule('jobs', 'a', { delay: 0 })).toBe('in-flight');
    expect(await dueAtOfKeyed()).toBe(keyed.dueAt.getTime());

    gate.open();
    await events.acked.first();
    expect(await producer.reschedule('jobs', 'a', { delay: '3h' })).toBe('moved');
    expect(await dueAtOfKeyed()).toBeGreaterThan(keyed.dueAt.getTime());
  });
});

describe('reschedule refuses with an InvalidArgumentError, and changes nothing:', () => {
  it.each<{ what: string; id?: unknown; when?: unknown; says: string[] }>([
    { what: 'an empty id', id: '', says: ['id', '1 to 256 characters', "Given: ''"] },
    { what: 'an id that is a number', id: 42, says: ['id', 'string', 'Given: 42'] },
    { what: 'an id that is null', id: null, says: ['id', 'Given: null'] },
    { what: 'an id with U+0000', id: 'a\0k', says: ['id', 'U+0000'] },
    { what: 'a missing key', id: { id: 'a' }, says: ['key', 'Given: undefined'] },
    { what: 'a key that is too long', id: { id: 'a', key: 'x'.repeat(257) }, says: ['key', '1 to 256 characters'] },
    { what: 'no time at all', when: {}, says: ['either delay or deliverAt', 'Given: {}'] },
    { what: 'a time that is undefined', when: undefined, says: ['{ delay } or { deliverAt }', 'Given: undefined'] },
    { what: 'a time that is null', when: null, says: ['must be an object', 'Given: null'] },
    { what: 'a duration alone', when: '30m', says: ['{ delay } or { deliverAt }', "Given: '30m'"] },
    { what: 'an unknown option', when: { dealy: '30m' }, says: ["no option 'dealy'", 'delay, deliverAt'] },
    { what: 'another option of publish', when: { delay: 0, attempts: 3 }, says: ["no option 'attempts'"] },
    { what: 'both times', when: { delay: '5s', deliverAt: 17 }, says: ['not both', "delay '5s'", 'deliverAt 17'] },
    { what: 'a delay that is NaN', when: { delay: NaN }, says: ['delay', "'30m'", 'Given: NaN'] },
    { what: 'a delay with an unknown unit', when: { delay: '30 bananas' }, says: ["Given: '30 bananas'"] },
    { what: 'a negative delay', when: { delay: -1 }, says: ['between 0 ms and 10 years', 'Given: -1'] },
    { what: 'a delay over 10 years', when: { delay: TEN_YEARS + 1 }, says: ['delay', '10 years'] },
    { what: 'a deliverAt that is not a valid date', when: { deliverAt: new Date('nonsense') }, says: ['Invalid Date'] },
    { what: 'a deliverAt in words', when: { deliverAt: '2030-01-01' }, says: ["Given: '2030-01-01'"] },
    { what: 'a deliverAt after 10 years', when: { deliverAt: Date.now() + TEN_YEARS + 60_000 }, says: ['10 years'] },
  ])('$what', async ({ says, ...given }) => {
    const { id, when } = { id: 'a', when: { delay: 0 }, ...given };
    const producer = await startPublisher();
    const { dueAt } = await producer.publish('jobs', 1, { id: 'a', delay: '1h' });
    const keys = (await bed.keys()).toSorted();

    const error: unknown = await producer.reschedule('jobs', id as string, when as When).catch((e: unknown) => e);

    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' });
    for (const text of says) expect((error as Error).message).toContain(text);
    expect(await bed.partition('jobs').dueAt('a')).toBe(dueAt.getTime());
    expect((await bed.keys()).toSorted()).toEqual(keys);
  });
});

describe('reschedule accepts', () => {
  it('the limits of both times', async () => {
    const producer = await startPublisher();
    await producer.publish('jobs', 1, { id: 'a', delay: '1h' });
    for (const when of [{ delay: TEN_YEARS }, { deliverAt: Date.now() + TEN_YEARS - 60_000 }]) {
      expect(await producer.reschedule('jobs', 'a', when)).toBe('moved');
      expect(await bed.partition('jobs').dueAt('a')).toBeGreaterThan(Date.now() + TEN_YEARS - 120_000);
    }
  });
});
