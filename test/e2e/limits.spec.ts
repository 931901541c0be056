import { Injectable } from '@nestjs/common';
import { DelayedHandler, type DelayedMessage, RateLimitedError, type TopicOptions } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { type Bed, type RunningApp, onOwnRedis, useBed } from '../support/app/bed.js';
import { eventually } from '../support/waiting.js';

const TOPIC = 'calls';
const PARTITIONS = 4;

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

const bed = useBed();

/** An application whose handler calls are noted with those of others. */
async function start(calls: Calls, topic: TopicOptions = {}, own: Bed = bed): Promise<RunningApp> {
  @Injectable()
  class Worker {
    @DelayedHandler(TOPIC, { backoff: { type: 'fixed', delay: 20 } })
    async handle(_payload: unknown, message: DelayedMessage): Promise<void> {
      await calls.take(message);
    }
  }
  return own.start({
    providers: [Worker],
    // Heartbeats, which find what was not told, are few.
    options: {
      topics: { [TOPIC]: { partitions: PARTITIONS, ...topic } },
      consumer: { maxIdleWait: own === bed ? '1m' : '1s' },
    },
  });
}

async function publish(app: RunningApp, count: number, keys?: number): Promise<void> {
  const messages = Array.from({ length: count }, (_, n) => ({
    payload: n,
    options: { id: `m${n}`, ...(keys === undefined ? {} : { key: `k${n % keys}` }) },
  }));
  await app.producer.publishMany(TOPIC, messages);
}

describe('the rate of a topic', () => {
  it('is kept by all applications together, and used', async () => {
    const calls = new Calls();
    const topic: TopicOptions = { rateLimit: { max: 20, per: '1s' } };
    const [app] = [await start(calls, topic), await start(calls, topic)];
    await publish(app, 60);
    await eventually(() => expect(new Set(calls.ids).size).toBe(60));

    expect(calls.ids).toHaveLength(60);
    expect(calls.mostWithin(1000)).toBe(20);
  });
});

describe('what may be in flight', () => {
  it('of a topic is kept by all applications together, and used; who ends lets others go on at once', async () => {
    const calls = new Calls();
    calls.respond = async () => new Promise((resolve) => setTimeout(resolve, 10));
    const topic: TopicOptions = { maxInFlight: { topic: 3 } };
    const apps = [await start(calls, topic), await start(calls, topic), await start(calls, topic)];
    await publish(apps[0] as RunningApp, 100);
    await eventually(() => expect(calls.ids).toHaveLength(100));

    expect(calls.mostAtOnce).toBe(3);
  });

  it('of a topic may be one: applications take turns', async () => {
    const calls = new Calls();
    const topic: TopicOptions = { maxInFlight: { topic: 1 } };
    const apps = [await start(calls, topic), await start(calls, topic)];
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
    const app = await start(calls, { maxInFlight: { key: 2 } });
    await publish(app, 60, 3);
    await eventually(() => expect(calls.ids).toHaveLength(60));

    expect(most).toBe(2);
    expect(calls.mostAtOnce).toBeGreaterThan(3);
  });

  it('is free again when an application leaves', async () => {
    const calls = new Calls();
    const topic: TopicOptions = { maxInFlight: { topic: 1 } };
    const first = await start(calls, topic);
    await publish(first, 1);
    await eventually(() => expect(calls.ids).toHaveLength(1));
    await first.close();
    const second = await start(calls, topic);
    await publish(second, 3);
    await eventually(() => expect(calls.ids).toHaveLength(4));
  });
});

describe('a handler that has met a rate limit', () => {
  it('holds the whole topic, in all applications, and then everything goes on', async () => {
    const calls = new Calls();
    let heldAt = Infinity;
    calls.respond = ({ id }) => {
      if (id !== 'first' || heldAt < Infinity) return;
      heldAt = performance.now();
      throw new RateLimitedError('1s');
    };
    const [app] = [await start(calls), await start(calls)];
    await app.producer.publish(TOPIC, 0, { id: 'first' });
    await eventually(async () => expect(await bed.redis.hget(bed.partition(TOPIC).key('meta'), 'held')).not.toBeNull());
    await publish(app, 30);
    await eventually(() => expect(calls.ids).toHaveLength(32));

    const early = calls.begun.filter(({ id, at }) => id !== 'first' && at < heldAt + 1000);
    expect(early).toEqual([]);
    expect(calls.ids.filter((id) => id === 'first')).toHaveLength(2);
  });
});

describe('the limits of a topic', () => {
  it('are those of the application that has booted last, and the others follow', async () => {
    const calls = new Calls();
    const first = await start(calls, { maxInFlight: { topic: 1 } });
    const second = await start(calls, { maxInFlight: { topic: 4 } });
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
    const first = await start(calls, { rateLimit: { max: 1, per: '1h', by: 'key' } });
    await publish(first, 20, 4);
    await eventually(() => expect(calls.ids).toHaveLength(4));
    await start(calls);
    await eventually(() => expect(calls.ids).toHaveLength(20));
  });

  it('are stored again after Redis has lost its data, and hold', async () => {
    const calls = new Calls();
    calls.respond = async () => new Promise((resolve) => setTimeout(resolve, 5));
    await onOwnRedis(async (own) => {
      const app = await start(calls, { maxInFlight: { topic: 2 } }, own);
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
    const app = await start(calls, { maxInFlight: { topic: 2 } });
    await bed.start({ options: { consumer: false, topics: { [TOPIC]: { rateLimit: { max: 1, per: '1h' } } } } });
    calls.respond = async () => new Promise((resolve) => setTimeout(resolve, 5));
    await publish(app, 10);
    await eventually(() => expect(calls.ids).toHaveLength(10));
    expect(calls.mostAtOnce).toBe(2);
  });
});
