import { Injectable } from '@nestjs/common';
import {
  DelayedHandler,
  type DelayedMessage,
  DelayQueueModule,
  DelayQueueProducer,
  RateLimitedError,
  type TopicOptions,
} from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { type Bed, type RunningApp, onOwnRedis, useBed } from '../support/app/bed.js';
import { partitionOf } from '../support/internals.js';
import { Jobs } from '../support/kit/jobs.js';
import { type KitBed, MINUTE, SECOND, START, boot, start as startKit, useKitBed } from '../support/kit/kit-bed.js';
import { Gate, eventually } from '../support/waiting.js';

async function publish({ producer }: { producer: DelayQueueProducer }, count: number, keys?: number, topic = 'jobs') {
  const messages = Array.from({ length: count }, (_, n) => ({
    payload: n,
    options: { id: `m${n}`, ...(keys === undefined ? {} : { key: `k${n % keys}` }) },
  }));
  await producer.publishMany(topic, messages);
}

const pause = async (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Notes when each call began, and how many ran at once, in all applications of a test. */
class Calls {
  readonly begun: { readonly id: string; readonly at: number }[] = [];
  #running = 0;
  mostAtOnce = 0;
  respond: (message: DelayedMessage) => unknown = () => undefined;

  async take(message: DelayedMessage): Promise<void> {
    this.begun.push({ id: message.id, at: performance.now() });
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#running);
    try {
      await this.respond(message);
    } finally {
      this.#running--;
    }
  }

  get ids(): string[] {
    return this.begun.map(({ id }) => id);
  }

  /** The most calls that began within so many milliseconds. */
  mostWithin(milliseconds: number): number {
    const times = this.begun.map(({ at }) => at);
    return Math.max(0, ...times.map((from) => times.filter((at) => at >= from && at < from + milliseconds - 1).length));
  }
}

describe('on Redis, the limits of a topic', () => {
  const bed = useBed();

  /** An application whose handler calls are noted with those of others. */
  async function start(calls: Calls, topic: TopicOptions = {}, own: Bed = bed): Promise<RunningApp> {
    @Injectable()
    class Worker {
      @DelayedHandler('jobs', { backoff: { type: 'fixed', delay: 20 } })
      async handle(_payload: unknown, message: DelayedMessage): Promise<void> {
        await calls.take(message);
      }
    }
    return own.start({
      providers: [Worker],
      // Heartbeats, which find what was not told, are few.
      options: {
        topics: { jobs: { partitions: 4, ...topic } },
        consumer: { maxIdleWait: own === bed ? '1m' : '1s' },
      },
    });
  }

  it('keep a rate in all applications together, and it is used', async () => {
    const calls = new Calls();
    const topic: TopicOptions = { rateLimit: { max: 20, per: '1s' } };
    const [app] = [await start(calls, topic), await start(calls, topic)];
    await publish(app, 60);
    await eventually(() => expect(new Set(calls.ids).size).toBe(60));

    expect(calls.ids).toHaveLength(60);
    expect(calls.mostWithin(1000)).toBe(20);
  });

  it.each([3, 1])('let %i be in flight in all applications: who ends or leaves lets others go on', async (max) => {
    const calls = new Calls();
    calls.respond = async () => pause(5);
    const topic: TopicOptions = { maxInFlight: { topic: max } };
    const [app, leaving] = [await start(calls, topic), await start(calls, topic), await start(calls, topic)];
    await publish(app, 60);
    await eventually(() => expect(calls.ids.length).toBeGreaterThan(10));
    await leaving.close();
    await eventually(() => expect(calls.ids).toHaveLength(60));

    expect(calls.mostAtOnce).toBe(max);
  });

  it('are those of the application that has booted last, and the others follow', async () => {
    const calls = new Calls();
    const first = await start(calls, { maxInFlight: { topic: 1 } });
    const second = await start(calls, { maxInFlight: { topic: 4 } });
    const line = `The limits of topic 'jobs' are from now on at most 4 in flight; they were at most 1 in flight`;
    expect(second.logs.warnings).toContain(line);
    // Nest has one logger, that of the application that was made last.
    await eventually(() => expect(second.logs.infos).toContain(`The limits of topic 'jobs' are at most 4 in flight`));
    await second.close();

    calls.respond = async () => pause(20);
    await publish(first, 20);
    await eventually(() => expect(calls.ids).toHaveLength(20));
    expect(calls.mostAtOnce).toBe(4);
  });

  it('let more begin at once when they are gone', async () => {
    const calls = new Calls();
    const first = await start(calls, { rateLimit: { max: 1, per: '1h', by: 'key' } });
    await publish(first, 20, 4);
    await eventually(() => expect(calls.ids).toHaveLength(4));
    await start(calls);
    await eventually(() => expect(calls.ids).toHaveLength(20));
  });

  it('are stored again after Redis has lost its data, and hold', async () => {
    const calls = new Calls();
    calls.respond = async () => pause(5);
    await onOwnRedis(async (own) => {
      const app = await start(calls, { maxInFlight: { topic: 2 } }, own);
      const config = `{${own.prefix}:jobs}:config`;
      expect(await own.redis.hget(config, 'limits')).toBe('flight=2');
      await own.redis.flushall();
      await eventually(async () => expect(await own.redis.hget(config, 'limits')).toBe('flight=2'));
      await publish(app, 20);
      await eventually(() => expect(calls.ids).toHaveLength(20));
    });
    expect(calls.mostAtOnce).toBe(2);
  });

  it('are not changed by an application that does not handle the topic', async () => {
    const calls = new Calls();
    const app = await start(calls, { maxInFlight: { topic: 2 } });
    await bed.start({ options: { consumer: false, topics: { jobs: { rateLimit: { max: 1, per: '1h' } } } } });
    calls.respond = async () => pause(5);
    await publish(app, 10);
    await eventually(() => expect(calls.ids).toHaveLength(10));
    expect(calls.mostAtOnce).toBe(2);
  });
});

const startLimited = async (limits: TopicOptions = {}) => startKit({ options: { defaults: limits } });

/** When each call began, in seconds since the start. */
const seconds = ({ jobs }: KitBed) => jobs.calls.map(({ at }) => Math.floor((at.getTime() - START.getTime()) / SECOND));

describe('in virtual time', () => {
  useKitBed();

  it('a rate is kept in its time, and counts retries; what waits spends no attempt', async () => {
    const bed = await startLimited({ rateLimit: { max: 3, per: '2m' } });
    bed.jobs.respond = (payload, { attempt }) => {
      if (payload === 0 && attempt < 3) throw new Error('Not yet');
    };
    await publish(bed, 8);
    await bed.harness.advance('1s');
    expect(seconds(bed)).toEqual([0, 0, 0]);
    await bed.harness.advance('7m');
    expect(seconds(bed)).toEqual([0, 0, 0, 120, 120, 120, 240, 240, 240, 360]);
    const attempts = bed.jobs.calls.map(({ payload, message }) => (payload === 0 ? message.attempt : 1));
    expect(attempts.toSorted((a, b) => a - b)).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 2, 3]);
  });

  it('a rate counts the messages of batches', async () => {
    const handled: unknown[] = [];
    @Injectable()
    class Batches {
      @DelayedHandler('batches', { batch: 7 })
      handle(payloads: unknown[]): void {
        handled.push(...payloads);
      }
    }
    const topics = { batches: { partitions: 1, rateLimit: { max: 10, per: '1m' } } } as const;
    const bed = await startKit({ options: { topics }, providers: [Batches] });
    await publish(bed, 20, undefined, 'batches');
    await bed.harness.advance('59s');
    expect(handled).toHaveLength(10);
    await bed.harness.advance('2s');
    expect(handled).toHaveLength(20);
  });

  it('a rate is shared: a partition with a backlog does not keep the others waiting', async () => {
    const bed = await startLimited({ partitions: 2, rateLimit: { max: 12, per: '1m' } });
    const quiet = ['a', 'b', 'c', 'd'].find((key) => partitionOf(key, 2) !== partitionOf('k0', 2));
    await publish(bed, 200, 1);
    await bed.harness.advance('1s');
    for (const id of ['q0', 'q1', 'q2']) await bed.producer.publish('jobs', id, { id, key: quiet as string });
    await bed.harness.advance('2m');
    expect(bed.jobs.ids.slice(12)).toEqual(expect.arrayContaining(['q0', 'q1', 'q2']));
    expect(bed.jobs.ids).toHaveLength(36);
  });

  it('a rate is not used up by what is cancelled, or is due later', async () => {
    const bed = await startLimited({ rateLimit: { max: 2, per: '1h' } });
    await bed.producer.publish('jobs', 0, { id: 'gone', delay: '1s' });
    await bed.producer.publish('jobs', 0, { id: 'later', delay: '2h' });
    await bed.producer.cancel('jobs', 'gone');
    await bed.harness.advance('2s');
    await publish(bed, 2);
    await bed.harness.advance('1s');
    expect(bed.jobs.ids.toSorted()).toEqual(['m0', 'm1']);
  });

  it('the rate of a key is kept', async () => {
    const bed = await startLimited({ rateLimit: { max: 1, per: '1m', by: 'key' } });
    await publish(bed, 3, 1);
    await bed.producer.publish('jobs', 0, { id: 'other', key: 'l' });
    await bed.harness.advance('3m');
    expect(bed.jobs.ids.toSorted()).toEqual(['m0', 'm1', 'm2', 'other']);
    expect(seconds(bed)).toEqual([0, 0, 60, 120]);
  });

  it.each([
    { maxInFlight: { topic: 2 }, keys: 1, most: 2 },
    { maxInFlight: { key: 2 }, keys: 3, most: 6 },
  ])('what may be in flight is kept: $maxInFlight', async ({ maxInFlight, keys, most }) => {
    const bed = await startLimited({ maxInFlight });
    const [all, ofKeys, gate] = [new Calls(), [0, 1, 2].map(() => new Calls()), new Gate()];
    all.respond = () => gate.opened;
    for (const calls of ofKeys) calls.respond = async (message) => all.take(message);
    bed.jobs.respond = async (_, message) => ofKeys[Number(message.key.slice(1))]?.take(message);
    await publish(bed, 30, keys);
    await eventually(() => expect(all.mostAtOnce).toBe(most));
    gate.open();
    await bed.harness.advance('1s');
    expect([all.ids.length, all.mostAtOnce]).toEqual([30, most]);
    expect(Math.max(...ofKeys.map(({ mostAtOnce }) => mostAtOnce))).toBe(2);
  });

  it('a rate limit that a handler meets holds the topic, in all processes', async () => {
    const bed = await startLimited();
    const setup = { imports: [DelayQueueModule.forRoot()], providers: [Jobs] };
    const other = (await boot(setup, bed.harness)).module.get(Jobs);
    const respond: Jobs['respond'] = (_, { id }) => {
      if (id === 'first' && bed.elapsed() < MINUTE) throw new RateLimitedError('1m');
    };
    bed.jobs.respond = respond;
    other.respond = respond;
    await bed.producer.publish('jobs', 0, { id: 'first' });
    await bed.harness.advance('1s');
    await publish(bed, 30);
    await bed.harness.advance('58s');
    expect([...bed.jobs.ids, ...other.ids]).toEqual(['first']);
    expect((await bed.admin.stats('jobs')).heldUntil).toEqual(new Date(START.getTime() + MINUTE));
    await bed.harness.advance('2s');
    expect([...bed.jobs.ids, ...other.ids].filter((id) => id === 'first')).toHaveLength(2);
    expect(bed.jobs.ids.length + other.ids.length).toBe(32);
    for (const { ids } of [bed.jobs, other]) expect(ids.length).toBeGreaterThan(2);
  });

  it.each<[scope: 'key' | 'message', early: string[]]>([
    ['key', ['m0', 'other']],
    ['message', ['m0', 'same', 'other']],
  ])('a rate limit that a handler meets may hold its %s alone, and spends no attempt', async (scope, early) => {
    const bed = await startLimited();
    bed.jobs.respond = (_, { id }) => {
      if (id === 'm0' && bed.elapsed() < MINUTE) throw new RateLimitedError('1m', { scope });
    };
    await publish(bed, 1, 1);
    await bed.harness.advance('1s');
    await bed.producer.publish('jobs', 0, { id: 'same', key: 'k0' });
    await bed.producer.publish('jobs', 0, { id: 'other', key: 'l' });
    await bed.harness.advance('58s');
    expect(bed.jobs.ids.toSorted()).toEqual(early.toSorted());
    await bed.harness.advance('2s');
    expect(bed.jobs.ids.toSorted()).toEqual(['m0', 'm0', 'other', 'same']);
    expect(bed.jobs.calls.map(({ message }) => message.attempt)).toEqual([1, 1, 1, 1]);
  });

  it('an operator holds a topic: what runs goes on, no attempt is spent, and it ends by itself', async () => {
    const bed = await startLimited();
    const end = new Gate();
    bed.jobs.respond = (payload) => (payload === 'runs' ? end.opened : undefined);
    await bed.producer.publish('jobs', 'runs', { id: 'runs' });
    await eventually(() => expect(bed.jobs.ids).toEqual(['runs']));
    expect(await bed.admin.hold('jobs', '1h')).toEqual(new Date(START.getTime() + 60 * MINUTE));
    await bed.admin.hold('jobs', '1m');
    end.open();
    await bed.producer.publish('jobs', 0, { id: 'waits' });
    await bed.harness.advance('59m');
    expect(bed.jobs.ids).toEqual(['runs']);
    expect(await bed.admin.stats('jobs')).toMatchObject({ inFlight: 0, due: 1 });
    await bed.harness.advance('1m');
    expect(bed.jobs.calls.map(({ message: { id, attempt } }) => [id, attempt])).toEqual([
      ['runs', 1],
      ['waits', 1],
    ]);
  });

  it('a month behind a limit takes no longer than its messages', async () => {
    // What waits for its permit does not run, or each message would take the whole patience.
    const bed = await startKit({ patience: '1m', options: { defaults: { rateLimit: { max: 1, per: '1d' } } } });
    await publish(bed, 30);
    await bed.harness.advance('31d');
    expect(bed.jobs.ids).toHaveLength(30);
  });
});
