import { Injectable } from '@nestjs/common';
import {
  DelayedHandler,
  DelayQueueAdmin,
  DuplicateMessageError,
  PublishManyError,
  type TopicOptions,
} from 'nestjs-delay-queue';
import type { MessageDetails } from 'nestjs-delay-queue/admin';
import { describe, expect, it } from 'vitest';
import { type RunningApp, useBed } from '../support/app/bed.js';
import { eventually } from '../support/waiting.js';

const TOPIC = 'webhooks';

/** Fails once for each payload that says so. */
@Injectable()
class Webhooks {
  readonly handled: string[] = [];
  readonly #failed = new Set<string>();

  @DelayedHandler(TOPIC, { backoff: { type: 'fixed', delay: 1 } })
  async handle(payload: string): Promise<void> {
    if (payload.startsWith('flaky') && !this.#failed.has(payload)) {
      this.#failed.add(payload);
      throw new TypeError('not yet');
    }
    await new Promise((resolve) => setTimeout(resolve, 3));
    this.handled.push(payload);
  }
}

const bed = useBed();

async function start(topic: TopicOptions, options: { consumes?: boolean } = {}): Promise<RunningApp> {
  const { consumes = true } = options;
  return bed.start({
    providers: consumes ? [Webhooks] : [],
    options: { topics: { [TOPIC]: { partitions: 2, ...topic } }, ...(consumes ? {} : { consumer: false }) },
  });
}

async function finished(app: RunningApp, id: string): Promise<MessageDetails> {
  const found = await app.get(DelayQueueAdmin).get(TOPIC, id);
  expect(found).toMatchObject({ state: 'finished' });
  return found as MessageDetails;
}

async function countOf(app: RunningApp): Promise<number> {
  return (await app.get(DelayQueueAdmin).stats(TOPIC)).finished;
}

describe('finished messages', () => {
  it('tell their story, and keep their id taken', async () => {
    const app = await start({ finished: { maxAge: '1h' } });
    const first = await app.producer.publish(TOPIC, 'flaky', { id: '42', headers: { trace: '7f' } });
    await eventually(async () => finished(app, '42'));

    const [process] = await bed.sessions();
    const story = await finished(app, '42');
    expect(story).toMatchObject({
      id: '42',
      outcome: 'acked',
      payload: 'flaky',
      headers: { trace: '7f' },
      deliveries: 2,
      attempts: 2,
      failure: { name: 'TypeError', message: 'not yet' },
      history: [{ attempt: 1, name: 'TypeError', message: 'not yet' }],
      process,
    });
    expect(story.duration).toBeGreaterThanOrEqual(2);
    const [published, dueAt, at] = [story.publishedAt, story.dueAt, story.at].map(Number) as [number, number, number];
    expect(published).toBeLessThanOrEqual(dueAt);
    expect(dueAt).toBeGreaterThan(first.dueAt.getTime());
    expect(at).toBeGreaterThanOrEqual(dueAt);
    expect((await app.get(DelayQueueAdmin).peek(TOPIC, 'finished')).messages).toEqual([story]);

    const again = await app.producer.publish(TOPIC, 'second', { id: '42' }).catch((error: unknown) => error);
    expect(again).toBeInstanceOf(DuplicateMessageError);
    expect(again).toMatchObject({ id: '42', topic: TOPIC, outcome: 'acked' });
    expect((again as Error).message).toContain("The message with id '42' of topic 'webhooks' was acknowledged");
    const ignored = await app.producer.publish(TOPIC, 'second', { id: '42', onDuplicate: 'ignore' });
    expect(ignored).toMatchObject({ duplicate: true, dueAt: story.dueAt });
    expect(app.get(Webhooks).handled).toEqual(['flaky']);
  });

  it('give way to one that replaces them', async () => {
    const app = await start({ finished: { maxCount: 10 } });
    await app.producer.publish(TOPIC, 'first', { id: '42' });
    await eventually(async () => finished(app, '42'));

    expect(await app.producer.publish(TOPIC, 'second', { id: '42', onDuplicate: 'replace' })).toMatchObject({
      duplicate: false,
    });
    await eventually(async () => expect((await finished(app, '42')).payload).toBe('second'));
    expect(app.get(Webhooks).handled).toEqual(['first', 'second']);
    expect(await countOf(app)).toBe(1);
  });

  it('are those that a process without handlers cancels, too', async () => {
    const app = await start({ finished: { maxAge: '1h' } });
    await eventually(async () =>
      expect(await bed.redis.hget(bed.partition(TOPIC, 0).key('meta'), 'finished')).toBeTruthy(),
    );
    await eventually(async () =>
      expect(await bed.redis.hget(bed.partition(TOPIC, 1).key('meta'), 'finished')).toBeTruthy(),
    );
    const publisher = await start({}, { consumes: false });
    const { dueAt } = await publisher.producer.publish(TOPIC, 'late', { id: '42', key: 'k', delay: '1d' });
    expect(await publisher.producer.cancel(TOPIC, '42')).toBe('cancelled');

    expect(await finished(app, '42')).toMatchObject({ key: 'k', outcome: 'cancelled', dueAt, deliveries: 0 });
    const options = { id: '42', key: 'k' };
    const error = await publisher.producer
      .publishMany(TOPIC, [{ payload: 'again', options }, { payload: 'new' }])
      .catch((rejected: unknown) => rejected);
    expect(error).toBeInstanceOf(PublishManyError);
    expect((error as PublishManyError).results).toMatchObject([
      { status: 'rejected', reason: { outcome: 'cancelled' } },
      { status: 'fulfilled' },
    ]);
  });

  it('are free once they are too old, and the owner removes them', async () => {
    const app = await start({ finished: { maxAge: 300 } });
    await app.producer.publish(TOPIC, 'a', { id: '42' });
    await eventually(async () => finished(app, '42'));
    await eventually(async () =>
      expect(await app.producer.publish(TOPIC, 'b', { id: '42' })).toMatchObject({ duplicate: false }),
    );
    await eventually(async () => expect((await app.get(DelayQueueAdmin).stats(TOPIC)).counters.acked).toBe(2));
    expect(app.get(Webhooks).handled).toEqual(['a', 'b']);

    await eventually(async () => expect(await countOf(app)).toBe(0));
    expect((await bed.keys()).filter((key) => /:(finished|endings|keyed)$/.test(key))).toEqual([]);
  });

  it('are removed by the next owner if it keeps none, and no time was promised', async () => {
    const app = await start({ finished: { maxCount: 1000 } });
    await app.producer.publishMany(
      TOPIC,
      Array.from({ length: 1000 }, (_, i) => ({ payload: `message ${i}` })),
    );
    await eventually(async () => expect(await countOf(app)).toBe(1000));
    await app.close();
    const next = await start({});

    await eventually(async () => expect(await countOf(next)).toBe(0));
    await next.producer.publish(TOPIC, 'last');
    await eventually(() => expect(next.get(Webhooks).handled).toEqual(['last']));
    expect(await countOf(next)).toBe(0);
  });
});
