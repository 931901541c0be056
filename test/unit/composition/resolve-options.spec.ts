import { describe, expect, it } from 'vitest';
import { ConfigurationError, InvalidArgumentError } from '../../../lib/errors/options.errors.js';
import type { DelayQueueModuleOptions, TopicOptions } from '../../../lib/composition/delay-queue-options.interface.js';
import { NO_COUNTS, NO_DURATIONS, deepFreeze, failureOf } from '../../support/units/wrong-options.js';
import { shown } from '../../support/shown.js';
import { resolveOptions } from '../../../lib/composition/resolve-options.js';

const DEFAULT_BACKOFF = { delay: 1000, factor: 2, maxDelay: 300_000, jitter: 0.2 };

const DEFAULT_TOPIC = {
  partitions: undefined,
  delivery: 'at-least-once',
  attempts: 5,
  backoff: DEFAULT_BACKOFF,
  timeout: undefined,
  expireAfter: undefined,
  deadLetter: { maxAge: undefined, maxCount: undefined },
  said: new Set(),
};

const backoff = (): string => '1s';

describe('resolveOptions', () => {
  it('fills in every default', () => {
    const { topicSettings, ...resolved } = resolveOptions({});

    expect(resolved).toEqual({
      given: {},
      redis: 'redis://127.0.0.1:6379',
      prefix: 'dq',
      publishTimeout: 5000,
      consumer: { concurrency: 100, lease: 30_000, autoStart: true, shutdownTimeout: 10_000, heartbeat: 5000 },
      middleware: {},
      topics: [],
      outbound: new Map(),
    });
    expect(topicSettings('any')).toEqual(DEFAULT_TOPIC);
  });

  it.each(['name', 'isGlobal'])("says where '%s' belongs, which a factory cannot give", (option) => {
    const { message } = failureOf(() => resolveOptions({ [option]: 'x' }));
    expect(message).toContain(`have '${option}'`);
    expect(message).toContain(`forRootAsync({ ${option}, useFactory })`);
    expect(() => resolveOptions({ [option]: undefined })).not.toThrow();
  });

  it('treats undefined like a missing option', () => {
    const nothing = {
      redis: undefined,
      prefix: undefined,
      topics: { t: { partitions: undefined, attempts: undefined, timeout: undefined, deadLetter: undefined } },
      defaults: { backoff: undefined, expireAfter: undefined },
      consumer: {
        concurrency: undefined,
        lease: undefined,
        autoStart: undefined,
        shutdownTimeout: undefined,
        maxIdleWait: undefined,
      },
      publishTimeout: undefined,
      middleware: undefined,
    } as unknown as DelayQueueModuleOptions;
    const resolved = resolveOptions(nothing);
    const { topicSettings: _functionOfItsOwn, ...rest } = resolveOptions({});

    expect(resolved).toMatchObject({ ...rest, topics: ['t'] });
    expect(resolved.topicSettings('t')).toEqual(DEFAULT_TOPIC);
  });

  it('uses every given option, with durations in milliseconds', () => {
    const { topicSettings, ...resolved } = resolveOptions({
      redis: { host: 'example.org' },
      prefix: 'app',
      publishTimeout: '2s',
      replicas: { min: 2, timeout: '2s' },
      consumer: { concurrency: 7, lease: '1m', autoStart: false, shutdownTimeout: 0, maxIdleWait: '1s' },
      topics: {
        orders: {
          partitions: 16,
          attempts: 3,
          backoff: { type: 'fixed', delay: '10s' },
          timeout: '1m',
          expireAfter: '1h',
          deadLetter: { maxAge: '7d', maxCount: 1000 },
          finished: { maxAge: '1h', maxCount: 100 },
        },
        mails: { backoff },
      },
    });

    expect(resolved).toMatchObject({
      redis: { host: 'example.org' },
      prefix: 'app',
      publishTimeout: 2000,
      replicas: { min: 2, timeout: 2000 },
      consumer: { concurrency: 7, lease: 60_000, autoStart: false, shutdownTimeout: 0, heartbeat: 1000 },
      topics: ['orders', 'mails'],
    });
    expect(topicSettings('orders')).toEqual({
      partitions: 16,
      delivery: 'at-least-once',
      attempts: 3,
      backoff: { delay: 10_000, factor: 1, maxDelay: 10_000, jitter: 0 },
      timeout: 60_000,
      expireAfter: 3_600_000,
      deadLetter: { maxAge: 604_800_000, maxCount: 1000 },
      finished: { maxAge: 3_600_000, maxCount: 100 },
      said: new Set(['partitions', 'attempts', 'backoff', 'timeout', 'expireAfter', 'deadLetter', 'finished']),
    });
    expect(topicSettings('mails')).toEqual({ ...DEFAULT_TOPIC, backoff, said: new Set(['backoff']) });
  });

  it("takes missing options of a topic from 'defaults'", () => {
    const { topicSettings } = resolveOptions({
      defaults: {
        partitions: 4,
        attempts: 9,
        timeout: '1s',
        expireAfter: '1m',
        deadLetter: { maxAge: '1d', maxCount: 5 },
      },
      topics: { orders: { attempts: 2, deadLetter: { maxCount: 0 } } },
    });

    const defaults = {
      partitions: 4,
      delivery: 'at-least-once',
      attempts: 9,
      backoff: DEFAULT_BACKOFF,
      timeout: 1000,
      expireAfter: 60_000,
      deadLetter: { maxAge: 86_400_000, maxCount: 5 },
      said: new Set(),
    };
    expect(topicSettings('any')).toEqual(defaults);
    expect(topicSettings('orders')).toEqual({
      ...defaults,
      attempts: 2,
      deadLetter: { maxAge: 86_400_000, maxCount: 0 },
      said: new Set(['attempts', 'deadLetter']),
    });
  });

  it.each<[topics: DelayQueueModuleOptions, refused: string]>([
    [
      { topics: { t: { delivery: 'at-most-once', attempts: 3 } } },
      "topics['t'].delivery cannot be 'at-most-once' together with 'attempts'",
    ],
    [{ topics: { t: { delivery: 'at-most-once', ordered: true } } }, "together with 'ordered'"],
    [{ topics: { t: { delivery: 'at-most-once', ordered: { onDead: 'block' } } } }, "together with 'ordered'"],
    [
      { defaults: { delivery: 'at-most-once', attempts: 1 } },
      "defaults.delivery cannot be 'at-most-once' together with 'attempts'",
    ],
    [{ defaults: { delivery: 'at-most-once' }, topics: { t: { attempts: 1 } } }, "topics['t'].delivery cannot be"],
    [{ defaults: { ordered: true }, topics: { t: { delivery: 'at-most-once' } } }, "together with 'ordered'"],
  ])('refuses at most once together with what it excludes: %j', (options, refused) => {
    const error = failureOf(() => resolveOptions(options));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error.message).toContain(refused);
  });

  it.each<TopicOptions>([
    { delivery: 'at-most-once' },
    { delivery: 'at-most-once', ordered: false },
    { delivery: 'at-most-once', timeout: '1s', finished: { maxAge: '1h' } },
  ])('accepts at most once with what goes with it: %j', (topic) => {
    const { topicSettings } = resolveOptions({ defaults: { attempts: 3 }, topics: { t: topic } });
    expect(topicSettings('t')).toMatchObject({ delivery: 'at-most-once' });
    expect(topicSettings('other')).toMatchObject({ delivery: 'at-least-once', attempts: 3 });
  });

  it('knows no topic by a name that every object has', () => {
    const { topicSettings } = resolveOptions({ topics: { orders: { attempts: 2 } } });

    for (const name of ['constructor', 'toString', '__proto__']) expect(topicSettings(name)).toEqual(DEFAULT_TOPIC);
  });

  it('has no consumer if the process only publishes', () => {
    expect(resolveOptions({ consumer: false }).consumer).toBeUndefined();
  });

  it('accepts the bounds of every number', () => {
    for (const topic of [
      { partitions: 1, attempts: 1, timeout: 1, expireAfter: 1, deadLetter: { maxAge: 1, maxCount: 0 } },
      { partitions: 1024, attempts: 1000, timeout: '10y', expireAfter: '10y', deadLetter: { maxAge: '10y' } },
    ]) {
      expect(resolveOptions({ topics: { t: topic } }).topicSettings('t')).toMatchObject({ attempts: topic.attempts });
    }
    for (const consumer of [
      { concurrency: 1, lease: 1000, shutdownTimeout: 0, maxIdleWait: 100 },
      { concurrency: 100_000, lease: '10y', shutdownTimeout: '10y', maxIdleWait: '60s' },
    ]) {
      expect(resolveOptions({ consumer }).consumer).toMatchObject({ concurrency: consumer.concurrency });
    }
    for (const publishTimeout of [1, '60s']) expect(() => resolveOptions({ publishTimeout })).not.toThrow();
    for (const prefix of ['a', 'x'.repeat(128), 'A-Z_0:9.']) expect(resolveOptions({ prefix }).prefix).toBe(prefix);
  });

  it('does not change what it is given', () => {
    const options = deepFreeze<DelayQueueModuleOptions>({
      redis: { host: 'example.org' },
      topics: { orders: { backoff: { type: 'exponential', delay: 5 }, deadLetter: {} } },
      defaults: { deadLetter: { maxCount: 5 } },
      consumer: { lease: '1m' },
    });
    const before = structuredClone(options);

    resolveOptions(options);

    expect(options).toEqual(before);
  });

  it('cannot be changed afterwards', () => {
    const resolved = resolveOptions({});

    expect(Object.isFrozen(resolved)).toBe(true);
    expect(Object.isFrozen(resolved.consumer)).toBe(true);
    expect(Object.isFrozen(resolved.topicSettings('any'))).toBe(true);
  });

  it('says which check failed in the cause of its error', () => {
    expect(failureOf(() => resolveOptions({ prefix: 'a b' })).cause).toBeInstanceOf(InvalidArgumentError);
  });

  const WRONG: Readonly<Record<string, readonly [wrong: readonly unknown[], make: (value: unknown) => unknown]>> = {
    'The module options': [[null, 5, 'x', [], true], (value) => value],
    redis: [[null, 5, true, [], ''], (value) => ({ redis: value })],
    prefix: [['', 'a b', '{a}', 'x'.repeat(129), 5, null, {}], (value) => ({ prefix: value })],
    publishTimeout: [[...NO_DURATIONS, 0, '61s'], (value) => ({ publishTimeout: value })],
    replicas: [[null, 5, 'x', [], true], (value) => ({ replicas: value })],
    'replicas.min': [[...NO_COUNTS, undefined, 101], (value) => ({ replicas: { min: value, timeout: 1 } })],
    'replicas.timeout': [[...NO_DURATIONS, undefined, 0, 5001], (value) => ({ replicas: { min: 1, timeout: value } })],
    consumer: [[null, 5, 'x', [], true], (value) => ({ consumer: value })],
    'consumer.concurrency': [[...NO_COUNTS, 100_001], (value) => ({ consumer: { concurrency: value } })],
    lease: [[...NO_DURATIONS, 0, 999], (value) => ({ consumer: { lease: value } })],
    'consumer.autoStart': [[null, 0, 'false', []], (value) => ({ consumer: { autoStart: value } })],
    'consumer.shutdownTimeout': [NO_DURATIONS, (value) => ({ consumer: { shutdownTimeout: value } })],
    'consumer.maxIdleWait': [[...NO_DURATIONS, 0, 99, '61s'], (value) => ({ consumer: { maxIdleWait: value } })],
    middleware: [[null, 5, 'x', {}, () => {}], (value) => ({ middleware: value })],
    'middleware[0]': [[null, undefined, 5, 'x', [], () => {}, {}, new Map()], (value) => ({ middleware: [value] })],
    'middleware[1].publish': [
      [null, 5, 'x', {}],
      (value) => ({ middleware: [{ handle: () => {} }, { publish: value, handle: () => {} }] }),
    ],
    'middleware[0].handle': [[null, 5, 'x', {}], (value) => ({ middleware: [{ handle: value }] })],
    'middleware[0].settle': [[null, 5, 'x', {}], (value) => ({ middleware: [{ settle: value }] })],
    topics: [[null, 5, 'x', [{}], true], (value) => ({ topics: value })],
    topic: [[{}], (value) => ({ topics: { 'a b': value } })],
    "topics['t']": [[null, 5, 'x', [], true], (value) => ({ topics: { t: value } })],
    "topics['t'].partitions": [[...NO_COUNTS, 1025], (value) => ({ topics: { t: { partitions: value } } })],
    "topics['t'].delivery": [[null, 5, 'x', 'once', true, {}], (value) => ({ topics: { t: { delivery: value } } })],
    "topics['t'].attempts": [[...NO_COUNTS, 1001], (value) => ({ topics: { t: { attempts: value } } })],
    "topics['t'].backoff": [[null, 5, 'x', [], {}, { type: 'x' }], (value) => ({ topics: { t: { backoff: value } } })],
    "topics['t'].timeout": [[...NO_DURATIONS, 0], (value) => ({ topics: { t: { timeout: value } } })],
    "topics['t'].expireAfter": [[...NO_DURATIONS, 0], (value) => ({ topics: { t: { expireAfter: value } } })],
    "topics['t'].deadLetter": [[null, 5, 'x', [], true], (value) => ({ topics: { t: { deadLetter: value } } })],
    "topics['t'].deadLetter.maxAge": [
      [...NO_DURATIONS, 0],
      (value) => ({ topics: { t: { deadLetter: { maxAge: value } } } }),
    ],
    "topics['t'].deadLetter.maxCount": [
      [-1, 1.5, NaN, Infinity, '5', null, {}],
      (value) => ({ topics: { t: { deadLetter: { maxCount: value } } } }),
    ],
    "topics['t'].finished": [[null, 5, 'x', [], true, {}], (value) => ({ topics: { t: { finished: value } } })],
    "topics['t'].finished.maxAge": [
      [...NO_DURATIONS, 0],
      (value) => ({ topics: { t: { finished: { maxAge: value } } } }),
    ],
    "topics['t'].finished.maxCount": [NO_COUNTS, (value) => ({ topics: { t: { finished: { maxCount: value } } } })],
    defaults: [[null, 5, 'x', [], true], (value) => ({ defaults: value })],
    'defaults.attempts': [[0, 1001], (value) => ({ defaults: { attempts: value } })],
    'defaults.partitions': [[0, 1025], (value) => ({ defaults: { partitions: value } })],
    'defaults.backoff.delay': [['soon'], (value) => ({ defaults: { backoff: { type: 'fixed', delay: value } } })],
    'defaults.deadLetter.maxCount': [[-1], (value) => ({ defaults: { deadLetter: { maxCount: value } } })],
  };
  for (const [option, [wrong, make]] of Object.entries(WRONG)) {
    for (const value of wrong) {
      it(`refuses ${option} if it is ${shown(value)}, and names it`, () => {
        const error = failureOf(() => resolveOptions(make(value) as DelayQueueModuleOptions));

        expect(error).toBeInstanceOf(ConfigurationError);
        expect(error.message).toMatch(/^DelayQueueModule: /);
        expect(error.message).toContain(option);
      });
    }
  }

  for (const [where, options] of [
    ['the module options', { topic: {} }],
    ['consumer', { consumer: { leases: 1 } }],
    ["topics['t']", { topics: { t: { retries: 1 } } }],
    ["topics['t'].deadLetter", { topics: { t: { deadLetter: { max: 1 } } } }],
    ['defaults', { defaults: { concurrency: 1 } }],
    ['middleware[0]', { middleware: [{ publish: () => {}, handler: () => {} }] }],
  ] as const) {
    it(`refuses an option that ${where} does not have`, () => {
      const error = failureOf(() => resolveOptions(options as unknown as DelayQueueModuleOptions));

      expect(error).toBeInstanceOf(ConfigurationError);
      expect(error.message).toContain(`' in ${where}.`);
      expect(error.message).toContain('Known options: ');
    });
  }
});
