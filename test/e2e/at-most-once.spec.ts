import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import {
  ConfigurationError,
  DelayedHandler,
  type DelayedMessage,
  DelayQueueModule,
  HandlerTimeoutError,
  RetryLaterError,
  type TopicOptions,
} from 'nestjs-delay-queue';
import { DelayQueueHarness } from 'nestjs-delay-queue/testing';
import { describe, expect, it } from 'vitest';
import { type RunningApp, useBed } from '../support/app/bed.js';
import { boot, start as startKit, useKitBed } from '../support/kit/kit-bed.js';
import { abortOf, eventually } from '../support/waiting.js';

const TOPIC = 'pings';

@Injectable()
class Pings {
  readonly called: string[] = [];
  respond: (message: DelayedMessage) => unknown = async () => sleep(20);

  @DelayedHandler(TOPIC)
  async handle(_: unknown, message: DelayedMessage): Promise<unknown> {
    this.called.push(message.id);
    return this.respond(message);
  }
}

async function start(topic: TopicOptions = {}) {
  const topics = { [TOPIC]: { delivery: 'at-most-once', ...topic } } as const;
  const bed = await startKit({ options: { topics }, providers: [Pings] });
  return { ...bed, pings: bed.app.get(Pings) };
}

describe('a topic that is delivered at most once', () => {
  useKitBed();

  it('comes when it is due, has nothing in flight while its handler runs, and nothing left when that has ended', async () => {
    const { harness, producer, admin, pings, tape } = await start();
    const acked = tape('acked');
    pings.respond = async ({ id }) => {
      await sleep(20);
      expect(await admin.get(TOPIC, id)).toBeUndefined();
    };
    await producer.publish(TOPIC, 1, { id: 'a', delay: '1h' });
    await harness.advance('59m');
    expect(pings.called).toEqual([]);
    await harness.advance('1m');

    expect(acked).toMatchObject([{ id: 'a', attempt: 1 }]);
    expect(await admin.stats(TOPIC)).toMatchObject({ scheduled: 0, inFlight: 0, counters: { delivered: 1, acked: 0 } });
  });

  it('tells what its handlers throw, or that they take too long, as errors, and says of what it keeps that it was delivered', async () => {
    const { harness, producer, admin, pings, tape, logs } = await start({ timeout: '5s', finished: { maxAge: '30d' } });
    const errors = tape('errors');
    pings.respond = async ({ id, signal }) => {
      if (id === 'throw') throw new TypeError('boom');
      if (id === 'later') throw new RetryLaterError('1ms');
      if (id === 'hang') await abortOf(signal);
    };
    for (const id of ['throw', 'later', 'hang', 'fine']) await producer.publish(TOPIC, 1, { id });
    await harness.advance('1d');

    expect(pings.called.toSorted()).toEqual(['fine', 'hang', 'later', 'throw']);
    expect(errors).toHaveLength(3);
    for (const [id, kind] of [
      ['hang', HandlerTimeoutError],
      ['later', RetryLaterError],
      ['throw', TypeError],
    ] as const) {
      const error: unknown = expect.any(kind);
      expect(errors).toContainEqual(expect.objectContaining({ source: 'handler', topic: TOPIC, id, error }));
    }
    expect(logs.errors.join()).toContain("Message 'throw' of topic 'pings' is lost in Pings.handle");
    expect(await admin.stats(TOPIC)).toMatchObject({ scheduled: 0, inFlight: 0, dead: 0 });

    const kept = { state: 'finished', outcome: 'delivered', attempts: 1, duration: undefined };
    expect(await admin.get(TOPIC, 'throw')).toMatchObject({ ...kept, process: expect.any(String) });
    await expect(producer.publish(TOPIC, 1, { id: 'throw' })).rejects.toMatchObject({ outcome: 'delivered' });
  });

  it('loses and doubles nothing if the answer to its claim is lost', async () => {
    const { harness, producer, pings } = await start();
    for (const id of ['a', 'b', 'c']) await producer.publish(TOPIC, 1, { id, delay: 10 });
    harness.failNext('claim', { lostReply: true, times: 2 });
    await harness.advance('1h');

    expect(pings.called.toSorted()).toEqual(['a', 'b', 'c']);
  });

  it('is no topic that is ordered already', async () => {
    const harness = new DelayQueueHarness();
    const bootWith = async (topic: TopicOptions) =>
      boot({ imports: [DelayQueueModule.forRoot({ topics: { [TOPIC]: topic } })], providers: [Pings] }, harness);
    await bootWith({ ordered: true });
    const error: unknown = await bootWith({ delivery: 'at-most-once' }).catch((reason: unknown) => reason);

    expect(error).toBeInstanceOf(ConfigurationError);
    expect(String(error)).toMatch(/Topic 'pings' is ordered.*at most once/);
  });
});

describe('on Redis', () => {
  const bed = useBed();

  async function startOnRedis(): Promise<RunningApp> {
    const topics = { [TOPIC]: { partitions: 2, delivery: 'at-most-once' } } as const;
    return bed.start({ providers: [Pings], options: { topics, consumer: { concurrency: 8, lease: '1s' } } });
  }

  it('all that a shutdown finds claimed is called, and nothing twice', async () => {
    const app = await startOnRedis();
    const ids = Array.from({ length: 200 }, (_, i) => `m-${i}`);
    await app.producer.publishMany(
      TOPIC,
      ids.map((id) => ({ payload: 1, options: { id } })),
    );
    const { called } = app.get(Pings);
    await eventually(() => expect(called.length).toBeGreaterThan(20));
    await app.close();
    const again = (await startOnRedis()).get(Pings).called;
    await eventually(() => expect(called.length + again.length).toBe(ids.length));
    // Whatever had a lease would come again by then.
    await sleep(1500);

    expect([...called, ...again].toSorted()).toEqual(ids.toSorted());
    expect(again.length).toBeGreaterThan(0);
  });
});
