import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import {
  type BackgroundError,
  ConfigurationError,
  DelayedHandler,
  type DelayedMessage,
  DelayQueueAdmin,
  DelayQueueEvents,
  HandlerTimeoutError,
  RetryLaterError,
  type TopicOptions,
} from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { type RunningApp, useBed } from '../support/app/bed.js';
import { abortOf, eventually } from '../support/waiting.js';

const TOPIC = 'pings';

/** Does what its payload says. */
@Injectable()
class Pings {
  readonly called: string[] = [];
  readonly aborted: string[] = [];

  @DelayedHandler(TOPIC)
  async handle(payload: 'fine' | 'slow' | 'throw' | 'later' | 'hang', { id, signal }: DelayedMessage): Promise<void> {
    this.called.push(id);
    if (payload === 'slow') await sleep(20);
    if (payload === 'throw') throw new TypeError('boom');
    if (payload === 'later') throw new RetryLaterError('1ms');
    if (payload === 'hang') {
      await abortOf(signal);
      this.aborted.push(id);
    }
  }
}

@Injectable()
class BatchedPings {
  readonly called: string[][] = [];

  @DelayedHandler(TOPIC, { batch: 10 })
  async handle(payloads: string[], messages: DelayedMessage[]): Promise<PromiseSettledResult<void>[]> {
    this.called.push(messages.map(({ id }) => id));
    return Promise.allSettled(
      payloads.map(async (payload) => {
        if (payload === 'throw') throw new TypeError('boom');
      }),
    );
  }
}

const bed = useBed();

async function start(
  topic: TopicOptions = {},
  { handler = Pings, concurrency = 100 }: { handler?: typeof Pings | typeof BatchedPings; concurrency?: number } = {},
): Promise<RunningApp> {
  return bed.start({
    providers: [handler],
    options: {
      topics: { [TOPIC]: { partitions: 2, delivery: 'at-most-once', ...topic } },
      consumer: { lease: '1s', concurrency },
    },
  });
}

function errorsOf(app: RunningApp): BackgroundError[] {
  const errors: BackgroundError[] = [];
  app.get(DelayQueueEvents).errors.subscribe((error) => errors.push(error));
  return errors;
}

describe('a topic that is delivered at most once', () => {
  it('has nothing in flight while its handlers run, and nothing left when they have ended', async () => {
    const app = await start();
    const acked = app.events.acked.first();
    await app.producer.publish(TOPIC, 'slow', { id: 'a' });
    await eventually(() => expect(app.get(Pings).called).toEqual(['a']));

    expect(await app.get(DelayQueueAdmin).get(TOPIC, 'a')).toBeUndefined();
    expect(await acked).toMatchObject({ id: 'a', attempt: 1 });
    expect(await app.get(DelayQueueAdmin).stats(TOPIC)).toMatchObject({
      scheduled: 0,
      inFlight: 0,
      counters: { delivered: 1, acked: 0 },
    });
  });

  it('tells what its handlers throw as errors, and neither retries nor keeps it', async () => {
    const app = await start();
    const errors = errorsOf(app);
    for (const payload of ['throw', 'later', 'fine'] as const)
      await app.producer.publish(TOPIC, payload, { id: payload });
    await eventually(() => expect(errors).toHaveLength(2));
    await sleep(50);

    expect(app.get(Pings).called.toSorted()).toEqual(['fine', 'later', 'throw']);
    const common = { source: 'handler', topic: TOPIC };
    expect(errors).toContainEqual(
      expect.objectContaining({ ...common, id: 'throw', error: expect.any(TypeError) as unknown }),
    );
    expect(errors).toContainEqual(
      expect.objectContaining({ ...common, id: 'later', error: expect.any(RetryLaterError) as unknown }),
    );
    expect(await app.get(DelayQueueAdmin).stats(TOPIC)).toMatchObject({ scheduled: 0, inFlight: 0, dead: 0 });
    expect(app.logs.errors.join()).toContain("Message 'throw' of topic 'pings' is lost in Pings.handle");
  });

  it('tells of a timeout in the same way', async () => {
    const app = await start({ timeout: 30 });
    const errors = errorsOf(app);
    await app.producer.publish(TOPIC, 'hang', { id: 'a' });
    await eventually(() => expect(app.get(Pings).aborted).toEqual(['a']));

    expect(errors).toMatchObject([{ source: 'handler', id: 'a', error: { code: 'HANDLER_TIMEOUT' } }]);
    expect(errors[0]?.error).toBeInstanceOf(HandlerTimeoutError);
    expect(await app.get(DelayQueueAdmin).stats(TOPIC)).toMatchObject({ scheduled: 0, dead: 0 });
  });

  it('tells of each message of a batch by itself', async () => {
    const app = await start({}, { handler: BatchedPings });
    const errors = errorsOf(app);
    const acked: string[] = [];
    app.get(DelayQueueEvents).acked.subscribe(({ id }) => acked.push(id));
    const messages = ['a', 'b', 'c', 'd'].map((id) => ({
      payload: id === 'b' ? 'throw' : 'fine',
      options: { id, key: 'k', delay: 50 },
    }));
    await app.producer.publishMany(TOPIC, messages);
    await eventually(() => expect(acked.length + errors.length).toBe(4));

    expect(acked.toSorted()).toEqual(['a', 'c', 'd']);
    expect(errors.map(({ id }) => id)).toEqual(['b']);
    expect(app.get(BatchedPings).called.flat().toSorted()).toEqual(['a', 'b', 'c', 'd']);
  });

  it('calls all that a shutdown finds claimed', async () => {
    const app = await start({}, { concurrency: 8 });
    const count = 200;
    await app.producer.publishMany(
      TOPIC,
      Array.from({ length: count }, (_, i) => ({ payload: 'slow', options: { id: `m-${i}` } })),
    );
    await eventually(() => expect(app.get(Pings).called.length).toBeGreaterThan(20));
    await app.close();

    const { called } = app.get(Pings);
    const next = await start();
    const again = next.get(Pings).called;
    await eventually(() => expect(called.length + again.length).toBe(count));
    await sleep(1500);
    expect(new Set([...called, ...again]).size).toBe(count);
    expect(called.length + again.length).toBe(count);
    expect(again.length).toBeGreaterThan(0);
  });

  it('frees the id at once, so that another message with it may run beside the first', async () => {
    const app = await start();
    await app.producer.publish(TOPIC, 'slow', { id: 'a' });
    await eventually(() => expect(app.get(Pings).called).toEqual(['a']));
    expect(await app.producer.publish(TOPIC, 'slow', { id: 'a' })).toMatchObject({ duplicate: false });

    await eventually(() => expect(app.get(Pings).called).toEqual(['a', 'a']));
  });

  it('says of what is kept that it was delivered', async () => {
    const app = await start({ finished: { maxAge: '1h' } });
    await app.producer.publish(TOPIC, 'throw', { id: 'a' });
    await eventually(() => expect(app.get(Pings).called).toEqual(['a']));

    const [process] = await bed.sessions();
    expect(await app.get(DelayQueueAdmin).get(TOPIC, 'a')).toMatchObject({
      state: 'finished',
      outcome: 'delivered',
      process,
      attempts: 1,
      duration: undefined,
    });
    await expect(app.producer.publish(TOPIC, 'fine', { id: 'a' })).rejects.toMatchObject({ outcome: 'delivered' });
  });

  it('is no topic that is ordered already', async () => {
    await bed.start({
      providers: [Pings],
      options: { topics: { [TOPIC]: { partitions: 2, ordered: true } } },
    });
    const options = { topics: { [TOPIC]: { delivery: 'at-most-once' } } } as const;
    const error = await bed.failingBoot({ providers: [Pings], options });

    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error.message).toContain(`Topic '${TOPIC}' is ordered`);
    expect(error.message).toContain('at most once');
  });
});
