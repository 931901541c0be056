import { Injectable, type Type } from '@nestjs/common';
import {
  BrokerUnavailableError,
  ConfigurationError,
  DelayedHandler,
  type DelayQueueModuleOptions,
  type HandlerOptions,
} from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { freePort } from '../support/servers/redis-server.js';
import { onOwnRedis, useBed } from '../support/app/bed.js';

const bed = useBed();

/** A provider with a handler of this topic with these options. */
function handlerOf(topic: string, options?: HandlerOptions): Type<unknown> {
  @Injectable()
  class Jobs {
    @DelayedHandler(topic, options)
    work(): void {}
  }
  return Jobs;
}

/** A value that does not compile, as JavaScript may pass it. */
function untyped(value: unknown): never {
  return value as never;
}

describe('the boot fails with a ConfigurationError that says what was given and what is allowed, for', () => {
  it.each<{ what: string; options: DelayQueueModuleOptions; says: string[] }>([
    {
      what: 'an unknown module option',
      options: untyped({ topcis: {} }),
      says: [
        "no option 'topcis'",
        "Did you mean 'topics'?",
        'redis, prefix, topics, defaults, consumer, publishTimeout',
      ],
    },
    {
      what: 'an unknown option of a topic',
      options: { topics: { jobs: untyped({ retries: 3 }) } },
      says: [
        "topics['jobs']",
        "no option 'retries'",
        'partitions, ordered, rateLimit, maxInFlight, delivery, attempts, backoff, timeout, expireAfter, deadLetter, finished',
      ],
    },
    {
      what: 'an unknown option of all topics',
      options: { defaults: untyped({ retries: 3 }) },
      says: ['defaults', "no option 'retries'", 'partitions, ordered, rateLimit, maxInFlight, delivery, attempts'],
    },
    {
      what: 'an unknown option of the consumer',
      options: { consumer: untyped({ threads: 3 }) },
      says: ["no option 'threads' in consumer", 'concurrency, lease, autoStart, shutdownTimeout, maxIdleWait'],
    },
    {
      what: 'concurrency 0',
      options: { consumer: { concurrency: 0 } },
      says: ['consumer.concurrency', 'from 1 to 100000', 'Given: 0'],
    },
    {
      what: 'a concurrency that is not a number',
      options: { consumer: { concurrency: untyped('5') } },
      says: ['consumer.concurrency', "Given: '5'"],
    },
    {
      what: 'a lease that is too short',
      options: { consumer: { lease: 999 } },
      says: ['lease', 'between 1 second and 10 years', 'Given: 999'],
    },
    {
      what: 'an invalid time',
      options: { publishTimeout: 'soon' },
      says: ['publishTimeout', "'30m'", "Given: 'soon'"],
    },
    { what: 'no partitions', options: { defaults: { partitions: 0 } }, says: ['from 1 to 1024', 'Given: 0'] },
    { what: 'too many partitions', options: { defaults: { partitions: 1025 } }, says: ['1024', 'Given: 1025'] },
    {
      what: 'an order that is no boolean',
      options: { defaults: { ordered: untyped('yes') } },
      says: ['defaults.ordered must be true, false or { onDead }', "Given: 'yes'"],
    },
    {
      what: 'an order that does not say what a dead letter does',
      options: { topics: { jobs: { ordered: untyped({}) } } },
      says: ["topics['jobs'].ordered.onDead must be one of 'continue', 'block'", 'Given: undefined'],
    },
    {
      what: 'no attempts',
      options: { topics: { jobs: { attempts: 0 } } },
      says: ["topics['jobs'].attempts", 'Given: 0'],
    },
    {
      what: 'a backoff of an unknown type',
      options: { defaults: { backoff: untyped({ type: 'linear', delay: 5 }) } },
      says: ['defaults.backoff.type', "'fixed', 'exponential', 'steps'", "Given: 'linear'"],
    },
    {
      what: 'a backoff without steps',
      options: { topics: { jobs: { backoff: { type: 'steps', delays: [] } } } },
      says: ["topics['jobs'].backoff.delays", '1 to 100 durations', 'Given: a list of 0'],
    },
    { what: 'an empty prefix', options: { prefix: '' }, says: ['prefix', '1 to 128 characters', "Given: ''"] },
    { what: 'a prefix with braces', options: { prefix: '{dq}' }, says: ['A-Z a-z 0-9 . _ : -', "Given: '{dq}'"] },
    { what: 'a topic with braces', options: { topics: { 'a{b}': {} } }, says: ['topic', "Given: 'a{b}'"] },
  ])('$what', async ({ options: wrong, says }) => {
    const error = await bed.failingBoot({ options: wrong });
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error).toMatchObject({ code: 'CONFIGURATION' });
    for (const text of says) expect(error.message).toContain(text);
    await bed.expectNothingOpen();
  });

  it.each<{ what: string; handler: () => Type<unknown>; says: string[] }>([
    {
      what: 'an unknown handler option',
      handler: () => handlerOf('jobs', untyped({ retries: 3 })),
      says: ['Jobs.work', "no option 'retries'", 'concurrency, batch, attempts, backoff, timeout, lease'],
    },
    {
      what: 'handler concurrency 0',
      handler: () => handlerOf('jobs', { concurrency: 0 }),
      says: ['Jobs.work', 'concurrency', 'from 1 to 100000', 'Given: 0'],
    },
    {
      what: 'a handler timeout of 0',
      handler: () => handlerOf('jobs', { timeout: 0 }),
      says: ['Jobs.work', 'timeout', 'Given: 0'],
    },
    {
      what: 'an empty topic',
      handler: () => handlerOf(''),
      says: ['Jobs.work', 'topic', '1 to 128 characters', "Given: ''"],
    },
    {
      what: 'a topic with braces',
      handler: () => handlerOf('a{b}'),
      says: ['Jobs.work', 'A-Z a-z 0-9 . _ : -', "Given: 'a{b}'"],
    },
    {
      what: 'a topic that is not a string',
      handler: () => handlerOf(untyped(undefined)),
      says: ['Jobs.work', 'topic', 'Given: undefined'],
    },
    {
      what: 'a topic that is too long',
      handler: () => handlerOf('x'.repeat(129)),
      says: ['Jobs.work', '1 to 128 characters'],
    },
  ])('$what', async ({ handler, says }) => {
    const error = await bed.failingBoot({ providers: [handler()] });
    expect(error).toBeInstanceOf(ConfigurationError);
    for (const text of says) expect(error.message).toContain(text);
    await bed.expectNothingOpen();
  });

  it('two handlers for one topic, and names both', async () => {
    @Injectable()
    class Mails {
      @DelayedHandler('jobs')
      send(): void {}
    }

    const error = await bed.failingBoot({ providers: [handlerOf('jobs'), Mails] });
    expect(error).toBeInstanceOf(ConfigurationError);
    for (const text of ["'jobs'", 'Jobs.work', 'Mails.send']) expect(error.message).toContain(text);
    await bed.expectNothingOpen();
  });

  it('two handlers for one topic in one class', async () => {
    @Injectable()
    class Mails {
      @DelayedHandler('mails')
      send(): void {}

      @DelayedHandler('mails')
      sendAgain(): void {}
    }

    const error = await bed.failingBoot({ providers: [Mails] });
    expect(error).toBeInstanceOf(ConfigurationError);
    for (const text of ["'mails'", 'Mails.send', 'Mails.sendAgain']) expect(error.message).toContain(text);
    await bed.expectNothingOpen();
  });

  it.each<{ where: string; setup: { options: DelayQueueModuleOptions; providers?: Type<unknown>[] } }>([
    { where: 'in its entry', setup: { options: { topics: { jobs: { partitions: 8 } } } } },
    {
      where: 'in the defaults, if it has a handler',
      setup: { options: { defaults: { partitions: 8 } }, providers: [handlerOf('jobs')] },
    },
  ])('a number of partitions that differs from the stored one, $where', async ({ setup }) => {
    const first = await bed.start({ options: { consumer: false, defaults: { partitions: 4 } } });
    await first.producer.publish('jobs', 1, { delay: '1h' });
    await first.close();

    const error = await bed.failingBoot(setup);
    expect(error).toBeInstanceOf(ConfigurationError);
    for (const text of ["'jobs'", '4 partitions', 'configured with 8']) expect(error.message).toContain(text);
    await bed.expectNothingOpen();
    expect(await bed.ofConsumers()).toEqual([]);
  });

  it('a different number of partitions at the first publish, if the topic was not configured', async () => {
    const first = await bed.start({ options: { consumer: false, defaults: { partitions: 4 } } });
    await first.producer.publish('jobs', 1, { delay: '1h' });
    const second = await bed.start({ options: { consumer: false, defaults: { partitions: 8 } } });
    const publish = second.producer.publish('jobs', 1);
    await expect(publish).rejects.toThrow(ConfigurationError);
    await expect(publish).rejects.toThrow(/'jobs'.*4 partitions.*8/);
  });

  it('another version of the protocol', async () => {
    await bed.redis.hset(`{${bed.prefix}:jobs}:config`, 'partitions', '8', 'protocol', '99');
    const error = await bed.failingBoot({ providers: [handlerOf('jobs')] });
    expect(error).toBeInstanceOf(ConfigurationError);
    for (const text of ["'jobs'", 'version 99', 'speaks 2 and 3']) expect(error.message).toContain(text);
    await bed.expectNothingOpen();
  });
});

describe('the boot fails with a BrokerUnavailableError', () => {
  it.each([
    { by: 'options', redis: (port: number) => ({ host: '127.0.0.1', port }) },
    { by: 'a URL', redis: (port: number) => `redis://user:geheim@127.0.0.1:${port}/3` },
  ])('that has host and port but no password, if no Redis listens: given by $by', async ({ redis }) => {
    const port = await freePort();
    const startedAt = performance.now();
    const error = await bed.failingBoot({ options: { redis: redis(port), publishTimeout: 300 } });
    // Half of the default: it is this timeout that counts.
    expect(performance.now() - startedAt).toBeLessThan(2500);
    expect(error).toBeInstanceOf(BrokerUnavailableError);
    expect(error).toMatchObject({ code: 'BROKER_UNAVAILABLE' });
    expect(error.message).toContain(`127.0.0.1:${port}`);
    expect(error.message).toContain('ECONNREFUSED');
    expect(error.message).not.toContain('geheim');
    await bed.expectNothingOpen();
  });

  it('that does not keep the process from ending', async () => {
    await bed.failingBoot({ options: { redis: { host: '127.0.0.1', port: await freePort() }, publishTimeout: 300 } });
    await expect(bed.expectNothingOpen(1000)).resolves.toBeUndefined();
  });

  it('if the host does not exist', async () => {
    const error = await bed.failingBoot({
      options: { redis: 'redis://no-such-host.invalid:6379', publishTimeout: 300 },
    });
    expect(error).toBeInstanceOf(BrokerUnavailableError);
    expect(error.message).toContain('no-such-host.invalid:6379');
    await bed.expectNothingOpen();
  });

  it.each([
    { what: 'wrong', password: 'geraten', says: /user name or password/ },
    { what: 'missing', password: undefined, says: /asks for a password/ },
  ])('if the password is $what', async ({ password, says }) => {
    await onOwnRedis(async (own) => {
      await own.redis.config('SET', 'requirepass', 'geheim');
      const redis = { ...own.connection, ...(password !== undefined && { password }) };
      const error = await own.failingBoot({ options: { redis, publishTimeout: 1000 } });
      expect(error).toBeInstanceOf(BrokerUnavailableError);
      expect(error.message).toContain(`127.0.0.1:${own.connection.port}`);
      expect(error.message).toMatch(says);
      expect(error.message).not.toContain('geraten');
      await own.expectNothingOpen();

      const app = await own.start({ options: { redis: { ...own.connection, password: 'geheim' } } });
      await app.producer.publish('jobs', 1, { delay: '1h' });
    });
  });
});

describe('the boot fails with a typed error that says what was given, if the Redis setting is useless:', () => {
  it.each<{ what: string; redis: unknown; says: string }>([
    { what: 'text that is not a URL', redis: 'not a url', says: 'neither redis:// nor rediss://' },
    { what: 'an empty text', redis: '', says: 'an empty string' },
    { what: 'a URL of something else', redis: 'https://127.0.0.1:6379', says: 'neither redis:// nor rediss://' },
    { what: 'an invalid port', redis: 'redis://127.0.0.1:99999', says: 'redis://user:password@host:port/database' },
    { what: 'a number', redis: 42, says: 'a number' },
    { what: 'null', redis: null, says: 'null' },
    { what: 'a list', redis: [], says: '{ nodes: […] }' },
    { what: 'a cluster without nodes', redis: { nodes: [] }, says: 'node' },
  ])('$what', async ({ redis, says }) => {
    const error = await bed.failingBoot({ options: { redis: untyped(redis), publishTimeout: 300 } });
    expect([ConfigurationError, BrokerUnavailableError]).toContain(error.constructor);
    expect(error.message.toLowerCase()).toContain('redis');
    expect(error.message).toContain(says);
    await bed.expectNothingOpen();
  });
});
