import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ConfigurationError, DelayedHandler, type DelayedMessage, type TopicOptions } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { type Bed, type RunningApp, onOwnRedis, useBed } from '../support/app/bed.js';
import { SeededRandom } from '../support/random.js';
import { PROTOCOL_VERSION } from '../../lib/store/fleet/topic-config.js';
import { eventually } from '../support/waiting.js';

const TOPIC = 'steps';
const PARTITIONS = 4;

interface Step {
  readonly number: number;
}

/** Fails some of its first attempts, and takes its time. */
@Injectable()
class Steps {
  readonly running = new Map<string, number>();
  /** The steps of each key, as they were done. */
  readonly done = new Map<string, number[]>();
  mostAtOnce = 0;
  fails = (_step: Step, _attempt: number): boolean => false;

  @DelayedHandler(TOPIC, { backoff: { type: 'fixed', delay: 20 }, attempts: 10 })
  async handle(step: Step, { key, attempt }: DelayedMessage<Step>): Promise<void> {
    const running = (this.running.get(key) ?? 0) + 1;
    this.running.set(key, running);
    this.mostAtOnce = Math.max(this.mostAtOnce, running);
    await new Promise((resolve) => setTimeout(resolve, 1));
    this.running.set(key, running - 1);
    if (this.fails(step, attempt)) throw new Error('Not yet');
    this.done.set(key, [...(this.done.get(key) ?? []), step.number]);
  }
}

const bed = useBed();

async function start(own: Bed, topic: TopicOptions, options: { consumes?: boolean } = {}): Promise<RunningApp> {
  const { consumes = true } = options;
  return own.start({
    providers: consumes ? [Steps] : [],
    options: {
      topics: { [TOPIC]: topic },
      defaults: { partitions: PARTITIONS },
      ...(consumes ? {} : { consumer: false }),
    },
  });
}

describe('an ordered topic', () => {
  it('does the steps of each key in order, one at a time, whatever fails and whoever joins', async () => {
    const random = new SeededRandom(7);
    const keys = Array.from({ length: 20 }, (_, i) => `key-${i}`);
    const publisher = await start(bed, { ordered: true }, { consumes: false });
    const steps = Array.from({ length: 25 }, (_, number) =>
      keys.map((key) => ({ payload: { number }, options: { key } })),
    );
    await publisher.producer.publishMany(TOPIC, steps.flat());
    const failing = new Set(steps.flatMap((_, number) => (random.next() < 0.2 ? [number] : [])));
    const apps: RunningApp[] = [];
    for (let i = 0; i < 2; i++) {
      const app = await start(bed, { ordered: true });
      app.get(Steps).fails = ({ number }, attempt) => failing.has(number) && attempt < 3;
      apps.push(app);
    }

    const doneOf = (key: string): number[] => apps.flatMap((app) => app.get(Steps).done.get(key) ?? []);
    await eventually(() => expect(keys.map((key) => doneOf(key).length)).toEqual(keys.map(() => steps.length)));
    for (const app of apps) {
      for (const done of app.get(Steps).done.values()) expect(done).toEqual(done.toSorted((a, b) => a - b));
      expect(app.get(Steps).mostAtOnce).toBe(1);
    }
  });

  it('has a key in common if it is the id of one message and named by another, as a UUID too', async () => {
    const id = randomUUID();
    const publisher = await start(bed, { ordered: true }, { consumes: false });
    await publisher.producer.publish(TOPIC, { number: 1 }, { id });
    await publisher.producer.publish(TOPIC, { number: 2 }, { key: id });
    const app = await start(bed, {});
    await eventually(() => expect(app.get(Steps).done.get(id)).toEqual([1, 2]));

    expect(app.get(Steps).mostAtOnce).toBe(1);
  });

  it('goes on at once, and not with the next look', async () => {
    const app = await bed.start({
      providers: [Steps],
      options: { topics: { [TOPIC]: { ordered: true, partitions: 1 } }, consumer: { maxIdleWait: '1m' } },
    });
    const messages = Array.from({ length: 100 }, (_, number) => ({ payload: { number }, options: { key: 'hot' } }));
    await app.producer.publishMany(TOPIC, messages);

    await eventually(() => expect(app.get(Steps).done.get('hot')).toEqual(messages.map((_, number) => number)));
  });

  it('is ordered again by the next publish if Redis was flushed', async () => {
    await onOwnRedis(async (own) => {
      const publisher = await start(own, { ordered: true }, { consumes: false });
      await publisher.producer.publish(TOPIC, { number: 0 }, { key: 'k' });
      await own.redis.flushall();
      for (let number = 1; number <= 3; number++) await publisher.producer.publish(TOPIC, { number }, { key: 'k' });
      const app = await start(own, {});
      await eventually(() => expect(app.get(Steps).done.get('k')).toEqual([1, 2, 3]));

      expect(await own.redis.hget(`{${own.prefix}:${TOPIC}}:config`, 'order')).toBe('continue');
      expect(await own.redis.hget(`{${own.prefix}:fleet}:topics`, TOPIC)).toMatch(
        new RegExp(`^${PARTITIONS} ${PROTOCOL_VERSION} continue - `),
      );
    });
  });
});

describe('whether a topic is ordered', () => {
  it.each<{ first: TopicOptions['ordered']; later: TopicOptions['ordered'] }>([
    { first: undefined, later: true },
    { first: false, later: { onDead: 'block' } },
    { first: true, later: false },
    { first: true, later: { onDead: 'block' } },
    { first: { onDead: 'block' }, later: { onDead: 'continue' } },
  ])('is fixed at its first use: $first, then $later', async ({ first, later }) => {
    await start(bed, { ordered: first } as TopicOptions);
    const options = { topics: { [TOPIC]: { ordered: later } as TopicOptions }, defaults: { partitions: PARTITIONS } };
    const error = await bed.failingBoot({ providers: [Steps], options });

    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error.message).toContain(`Topic '${TOPIC}' `);
    expect(error.message).toContain("or leave 'ordered' out");
  });

  it.each<{ first: TopicOptions['ordered']; later: TopicOptions['ordered'] }>([
    { first: undefined, later: false },
    { first: true, later: { onDead: 'continue' } },
    { first: { onDead: 'block' }, later: undefined },
  ])('may be said in other words, or left out: $first, then $later', async ({ first, later }) => {
    await start(bed, { ordered: first } as TopicOptions);
    const app = await start(bed, { ordered: later } as TopicOptions);

    expect(app.logs.errors).toEqual([]);
    expect(app.logs.warnings.filter((line) => line.includes(TOPIC))).toEqual([]);
  });
});
