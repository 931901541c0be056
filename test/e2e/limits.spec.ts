import { Injectable } from '@nestjs/common';
import { DelayQueueAdmin, DelayedHandler, type TopicOptions } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { partitionOf } from '../support/internals.js';
import { type RunningApp, onOwnRedis, useBed } from '../support/app/bed.js';
import { Calls, PARTITIONS, TOPIC, publish, startLimited } from '../support/app/limited-calls.js';
import { eventually } from '../support/waiting.js';

const bed = useBed();

/** One after another of the keys. */
function backlogOf(keys: string | readonly string[], count: number) {
  const all = [keys].flat();
  return Array.from({ length: count }, (_, n) => ({
    payload: n,
    options: { id: `${all[0]}-${n}`, key: all[n % all.length] as string },
  }));
}

function oneKeyInEachPartition(): string[] {
  return Array.from({ length: PARTITIONS }, (_, partition) => {
    for (let n = 0; ; n++) if (partitionOf(`k${n}`, PARTITIONS) === partition) return `k${n}`;
  });
}

/** The numbers of each process that is known of, as `permit.lua` says. */
async function permitLines(): Promise<number[][]> {
  const text = (await bed.redis.get(`{${bed.prefix}:${TOPIC}}:permits`)) ?? '';
  return text.split('\n').flatMap((line) => (line.includes(':') ? [line.split(' ').slice(1).map(Number)] : []));
}

describe('the rate of a topic', () => {
  it('is kept by all applications together, and used', async () => {
    const calls = new Calls();
    const topic: TopicOptions = { rateLimit: { max: 20, per: '1s' } };
    const [app] = [await startLimited(bed, calls, topic), await startLimited(bed, calls, topic)];
    await publish(app, 60);
    await eventually(() => expect(new Set(calls.ids).size).toBe(60));

    expect(calls.ids).toHaveLength(60);
    expect(calls.mostWithin(1000)).toBe(20);
  });

  it('counts retries, and spends no attempt of what waits', async () => {
    const calls = new Calls();
    const attempts: number[] = [];
    calls.respond = ({ attempt }) => {
      attempts.push(attempt);
      if (attempt < 3) throw new Error('Not yet');
    };
    const app = await startLimited(bed, calls, { rateLimit: { max: 2, per: '1s' } });
    await publish(app, 2);
    await eventually(() => expect(attempts).toHaveLength(6));

    expect(calls.mostWithin(1000)).toBe(2);
    expect(attempts.toSorted((a, b) => a - b)).toEqual([1, 1, 2, 2, 3, 3]);
  });

  it('counts the messages of batches', async () => {
    const sizes: { at: number; size: number }[] = [];
    @Injectable()
    class Batches {
      @DelayedHandler(TOPIC, { batch: 7 })
      handle(payloads: unknown[]): void {
        sizes.push({ at: performance.now(), size: payloads.length });
      }
    }
    const app = await bed.start({
      providers: [Batches],
      options: { topics: { [TOPIC]: { partitions: 1, rateLimit: { max: 10, per: '1s' } } } },
    });
    await publish(app, 20);
    await eventually(() => expect(sizes.reduce((sum, { size }) => sum + size, 0)).toBe(20));

    const first = sizes.filter(({ at }) => at < (sizes[0]?.at ?? 0) + 900);
    expect(first.reduce((sum, { size }) => sum + size, 0)).toBe(10);
  });

  it('is shared: a partition with a backlog does not keep the others waiting', async () => {
    const calls = new Calls();
    const [busy, ...quiet] = oneKeyInEachPartition() as [string, ...string[]];
    const app = await startLimited(bed, calls, { rateLimit: { max: 12, per: '1s' } });
    await app.producer.publishMany(TOPIC, backlogOf(busy, 200));
    await eventually(() => expect(calls.ids.length).toBeGreaterThanOrEqual(12));
    await app.producer.publishMany(TOPIC, backlogOf(quiet, 6));
    await eventually(() => expect(calls.of(quiet)).toHaveLength(6));

    // Two windows have as much room as all of it, and a share of the backlog.
    expect(calls.of([busy]).length).toBeLessThanOrEqual(48);
  });

  it('is not used up by what is cancelled, or is due later', async () => {
    const calls = new Calls();
    const app = await startLimited(bed, calls, { rateLimit: { max: 2, per: '1m' } });
    await app.producer.publish(TOPIC, 0, { id: 'gone', delay: 50 });
    await app.producer.publish(TOPIC, 0, { id: 'later', delay: '1h' });
    await app.producer.cancel(TOPIC, 'gone');
    await new Promise((resolve) => setTimeout(resolve, 100));
    await publish(app, 2);
    await eventually(() => expect(calls.ids).toHaveLength(2));
  });
});

describe('the rate of a key', () => {
  it('is kept for each key', async () => {
    const calls = new Calls();
    const topic: TopicOptions = { rateLimit: { max: 3, per: '1s', by: 'key' } };
    const [app] = [await startLimited(bed, calls, topic), await startLimited(bed, calls, topic)];
    await publish(app, 30, 5);
    await eventually(() => expect(calls.ids).toHaveLength(30));

    for (const key of ['k0', 'k1', 'k2', 'k3', 'k4']) expect(calls.mostWithin(1000, key)).toBe(3);
    expect(calls.mostWithin(500)).toBeGreaterThanOrEqual(15);
  });

  it('keeps messages waiting that are listed among those that are scheduled', async () => {
    const calls = new Calls();
    const app = await startLimited(bed, calls, { rateLimit: { max: 1, per: '1h', by: 'key' } });
    const admin = app.get(DelayQueueAdmin);
    await publish(app, 4, 1);
    await app.producer.publish(TOPIC, 0, { id: 'later', key: 'k0', delay: '1h' });
    await eventually(async () => expect(await admin.stats(TOPIC)).toMatchObject({ blocked: 3, inFlight: 0 }));

    const { messages, cursor } = await admin.peek(TOPIC, 'scheduled');
    const ids = messages.map(({ id }) => id);
    expect([ids.slice(0, 3).toSorted(), ids[3], cursor]).toEqual([
      ['m0', 'm1', 'm2', 'm3'].filter((id) => id !== calls.ids[0]),
      'later',
      undefined,
    ]);
    expect((await admin.peek(TOPIC, 'scheduled', { key: 'k0' })).messages).toHaveLength(4);
    expect((await admin.peek(TOPIC, 'due')).messages).toEqual([]);
  });
});

describe('limits of a topic that is delivered at most once', () => {
  it('know who waits for as long as those of others do, though it has no lease', async () => {
    const calls = new Calls();
    const app = await startLimited(bed, calls, { delivery: 'at-most-once', rateLimit: { max: 1, per: '1h' } });
    await publish(app, 2);
    await eventually(async () => expect(await permitLines()).toHaveLength(1));
    const [[, , endsAt, wanted] = []] = await permitLines();
    expect(endsAt).toBeGreaterThan(Date.now() + 10_000);
    expect(wanted).toBeGreaterThan(0);
  });
});

describe('what may be in flight', () => {
  it('of a topic is kept by all applications together, and used; who ends lets others go on at once', async () => {
    const calls = new Calls();
    calls.respond = async () => new Promise((resolve) => setTimeout(resolve, 10));
    const topic: TopicOptions = { maxInFlight: { topic: 3 } };
    const apps = [
      await startLimited(bed, calls, topic),
      await startLimited(bed, calls, topic),
      await startLimited(bed, calls, topic),
    ];
    await publish(apps[0] as RunningApp, 100);
    await eventually(() => expect(calls.ids).toHaveLength(100));

    expect(calls.mostAtOnce).toBe(3);
  });

  it('of a topic may be one: applications take turns', async () => {
    const calls = new Calls();
    const topic: TopicOptions = { maxInFlight: { topic: 1 } };
    const apps = [await startLimited(bed, calls, topic), await startLimited(bed, calls, topic)];
    await publish(apps[0] as RunningApp, 40);
    await eventually(() => expect(calls.ids).toHaveLength(40));

    expect(calls.mostAtOnce).toBe(1);
  });

  it('of a key is kept, and other keys go on', async () => {
    const calls = new Calls();
    const running = new Map<string, number>();
    let most = 0;
    calls.respond = async ({ key }) => {
      const count = (running.get(key) ?? 0) + 1;
      running.set(key, count);
      most = Math.max(most, count);
      await new Promise((resolve) => setTimeout(resolve, 10));
      running.set(key, (running.get(key) ?? 0) - 1);
    };
    const app = await startLimited(bed, calls, { maxInFlight: { key: 2 } });
    await publish(app, 60, 3);
    await eventually(() => expect(calls.ids).toHaveLength(60));

    expect(most).toBe(2);
    expect(calls.mostAtOnce).toBeGreaterThan(3);
  });

  it('is free again when an application leaves', async () => {
    const calls = new Calls();
    const topic: TopicOptions = { maxInFlight: { topic: 1 } };
    const first = await startLimited(bed, calls, topic);
    await publish(first, 1);
    await eventually(() => expect(calls.ids).toHaveLength(1));
    await first.close();
    const second = await startLimited(bed, calls, topic);
    await publish(second, 3);
    await eventually(() => expect(calls.ids).toHaveLength(4));
  });
});

describe('the limits of a topic', () => {
  it('are those of the application that has booted last, and the others follow', async () => {
    const calls = new Calls();
    const first = await startLimited(bed, calls, { maxInFlight: { topic: 1 } });
    const second = await startLimited(bed, calls, { maxInFlight: { topic: 4 } });
    const line = `The limits of topic '${TOPIC}' are from now on at most 4 in flight; they were at most 1 in flight`;
    expect(second.logs.warnings).toContain(line);
    // Nest has one logger, that of the application that was made last.
    await eventually(() =>
      expect(second.logs.infos).toContain(`The limits of topic '${TOPIC}' are at most 4 in flight`),
    );
    await second.close();

    calls.respond = async () => new Promise((resolve) => setTimeout(resolve, 20));
    await publish(first, 20);
    await eventually(() => expect(calls.ids).toHaveLength(20));
    expect(calls.mostAtOnce).toBe(4);
  });

  it('let more begin at once when they are gone', async () => {
    const calls = new Calls();
    const first = await startLimited(bed, calls, { rateLimit: { max: 1, per: '1h', by: 'key' } });
    await publish(first, 20, 4);
    await eventually(() => expect(calls.ids).toHaveLength(4));
    await startLimited(bed, calls);
    await eventually(() => expect(calls.ids).toHaveLength(20));
  });

  it('are stored again after Redis has lost its data, and hold', async () => {
    const calls = new Calls();
    calls.respond = async () => new Promise((resolve) => setTimeout(resolve, 5));
    await onOwnRedis(async (own) => {
      const app = await startLimited(own, calls, { maxInFlight: { topic: 2 } }, { maxIdleWait: '1s' });
      const config = `{${own.prefix}:${TOPIC}}:config`;
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
    const app = await startLimited(bed, calls, { maxInFlight: { topic: 2 } });
    await bed.start({ options: { consumer: false, topics: { [TOPIC]: { rateLimit: { max: 1, per: '1h' } } } } });
    calls.respond = async () => new Promise((resolve) => setTimeout(resolve, 5));
    await publish(app, 10);
    await eventually(() => expect(calls.ids).toHaveLength(10));
    expect(calls.mostAtOnce).toBe(2);
  });
});
