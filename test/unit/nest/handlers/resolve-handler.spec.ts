import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ConfigurationError } from '../../../../lib/errors/options.errors.js';
import type { HandlerOptions } from '../../../../lib/nest/decorators/handler-options.interface.js';
import { topic } from '../../../../lib/messages/topic.js';
import { type ConsumingOptions, resolveHandler } from '../../../../lib/nest/handlers/resolve-handler.js';
import { resolveOptions } from '../../../../lib/composition/resolve-options.js';
import { shown } from '../../../support/shown.js';
import { NO_COUNTS, NO_DURATIONS, deepFreeze, failureOf } from '../../../support/units/wrong-options.js';

const DEFAULT_BACKOFF = { delay: 1000, factor: 2, maxDelay: 300_000, jitter: 0.2 };

/** What the topic is told, beside what is the default. */
const SAID = new Set(['partitions', 'attempts', 'timeout', 'expireAfter', 'deadLetter']);

const backoff = (): string => '1s';

describe('resolveHandler', () => {
  const module = resolveOptions({
    topics: {
      orders: {
        partitions: 4,
        attempts: 7,
        timeout: '1m',
        expireAfter: '1h',
        deadLetter: { maxCount: 5 },
      },
    },
  }) as ConsumingOptions;
  const resolve = (options: HandlerOptions, topics = ['orders']) =>
    resolveHandler('Orders.onTimeout', topics, options, module);
  const settings = (options: HandlerOptions) => resolve(options).topics[0]?.settings;

  it('takes missing options from the topic and the consumer', () => {
    expect(resolve({})).toEqual({
      name: 'Orders.onTimeout',
      concurrency: 100,
      batch: undefined,
      inbox: false,
      topics: [
        {
          topic: 'orders',
          settings: {
            partitions: 4,
            delivery: 'at-least-once',
            attempts: 7,
            backoff: DEFAULT_BACKOFF,
            timeout: 60_000,
            lease: 30_000,
            expireAfter: 3_600_000,
            deadLetter: { maxAge: undefined, maxCount: 5 },
            said: SAID,
          },
        },
      ],
    });
  });

  it('takes precedence over the topic and the consumer', () => {
    const own = { concurrency: 3, attempts: 1, backoff, timeout: '5s', lease: '2s' };
    expect(resolve(own).concurrency).toBe(3);
    expect([1, 200].map((batch) => resolve({ batch }).batch)).toEqual([1, 200]);
    expect(settings(own)).toEqual({
      partitions: 4,
      delivery: 'at-least-once',
      attempts: 1,
      backoff,
      timeout: 5000,
      lease: 2000,
      expireAfter: 3_600_000,
      deadLetter: { maxAge: undefined, maxCount: 5 },
      said: SAID,
    });
    expect(settings({ backoff: { type: 'fixed', delay: 5 } })?.backoff).toMatchObject({ delay: 5, factor: 1 });
    expect(settings({ backoff: { type: 'steps', delays: ['1s', '1m'] } })?.backoff).toEqual({
      delays: [1000, 60_000],
      jitter: 0,
    });
  });

  it('leases nothing of a topic that is delivered at most once, and refuses attempts for it', () => {
    const options = resolveOptions({
      defaults: { attempts: 4 },
      topics: { pings: { delivery: 'at-most-once' } },
    }) as ConsumingOptions;
    const pings = resolveHandler('Pings.on', ['pings', 'others'], { lease: '5s' }, options);
    expect(pings.topics.map(({ settings: { attempts, lease } }) => [attempts, lease])).toEqual([
      [1, 0],
      [4, 5000],
    ]);

    const error = failureOf(() => resolveHandler('Pings.on', ['pings'], { attempts: 2 }, options));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error.message).toContain("attempts has no meaning for topic 'pings', which is delivered at most once");
  });

  it('takes the settings of each of several topics, in their order', () => {
    const { topics } = resolve({ attempts: 2 }, ['other', 'orders']);

    expect(topics.map((handled) => handled.topic)).toEqual(['other', 'orders']);
    expect(topics.map((handled) => handled.settings.timeout)).toEqual([undefined, 60_000]);
    expect(topics.map((handled) => handled.settings.attempts)).toEqual([2, 2]);
  });

  it('takes the schema of each topic that has one', () => {
    const schema = z.string();
    const { topics } = resolveHandler('Orders.onTimeout', ['a', topic('b', { schema }), topic('c')], {}, module);

    expect(topics.map((handled) => handled.schema)).toEqual([undefined, schema, undefined]);
  });

  for (const [topics, says] of [
    [[], 'It has no topic'],
    [[''], 'A topic must be'],
    [['a', 'b', 'a'], "It names topic 'a' twice"],
  ] as const) {
    it(`refuses the topics ${shown(topics)}, and names the handler`, () => {
      const error = failureOf(() => resolve({}, [...topics]));

      expect(error).toBeInstanceOf(ConfigurationError);
      expect(error.message).toContain(`@DelayedHandler on Orders.onTimeout: ${says}`);
    });
  }

  it('does not change its arguments', () => {
    const options = deepFreeze<HandlerOptions>({ backoff: { type: 'exponential', delay: 5 } });

    expect(() => resolve(options)).not.toThrow();
    expect(options).toEqual({ backoff: { type: 'exponential', delay: 5 } });
  });

  const WRONG: Readonly<Record<string, readonly unknown[]>> = {
    concurrency: [...NO_COUNTS, 100_001],
    batch: [...NO_COUNTS, 201],
    attempts: [...NO_COUNTS, 1001],
    backoff: [null, 5, 'x', [], {}, { type: 'fixed', delay: -1 }],
    timeout: [...NO_DURATIONS, 0],
    lease: [...NO_DURATIONS, 0, 999],
  };
  for (const [option, wrong] of Object.entries(WRONG)) {
    for (const value of wrong) {
      it(`refuses ${option} if it is ${shown(value)}`, () => {
        const error = failureOf(() => resolve({ [option]: value }));

        expect(error).toBeInstanceOf(ConfigurationError);
        expect(error.message).toMatch(/^@DelayedHandler on Orders\.onTimeout: /);
        expect(error.message).toContain(option);
      });
    }
  }

  for (const [options, says] of [
    [null, 'Its options must be an object'],
    [5, 'Its options must be an object'],
    ['x', 'Its options must be an object'],
    [[], 'Its options must be an object'],
    [{ partitions: 5 }, "There is no option 'partitions' in its options. Known options: "],
    [{ expireAfter: 5 }, "There is no option 'expireAfter' in its options."],
    [{ concurency: 5 }, "There is no option 'concurency' in its options. Did you mean 'concurrency'? Known options: "],
  ] as const) {
    it(`refuses the options ${shown(options)}, and names the handler`, () => {
      const error = failureOf(() => resolve(options as unknown as HandlerOptions));

      expect(error).toBeInstanceOf(ConfigurationError);
      expect(error.message).toContain(`@DelayedHandler on Orders.onTimeout: ${says}`);
    });
  }
});
