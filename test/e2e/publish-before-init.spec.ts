import { Inject, Injectable, type OnModuleInit, type Provider, type Type } from '@nestjs/common';
import type { Redis } from 'ioredis';
import {
  BrokerUnavailableError,
  ConfigurationError,
  DELAY_QUEUE_REDIS,
  DelayQueueProducer,
  type PublishedMessage,
} from 'nestjs-delay-queue';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startFakeRedis } from '../support/servers/fake-redis.js';
import { freePort } from '../support/servers/redis-server.js';
import { useBed } from '../support/app/bed.js';
import { Jobs } from '../support/app/jobs.js';

const bed = useBed();

/** A place where an application publishes before its modules are initialized, and the result. */
interface Early {
  readonly published: Promise<PublishedMessage>;
}

@Injectable()
class InConstructor implements Early {
  readonly published: Promise<PublishedMessage>;

  constructor(producer: DelayQueueProducer) {
    this.published = producer.publish('jobs', 'early', { id: 'constructor' });
    // The test awaits it later; until then its rejection is not unhandled.
    this.published.catch(() => {});
  }
}

@Injectable()
class InModuleInit implements Early, OnModuleInit {
  readonly #producer: DelayQueueProducer;
  published: Promise<PublishedMessage> = Promise.reject(new Error('not yet'));

  constructor(producer: DelayQueueProducer) {
    this.#producer = producer;
    this.published.catch(() => {});
  }

  async onModuleInit(): Promise<void> {
    this.published = this.#producer.publish('jobs', 'early', { id: 'init' });
    await this.published;
  }
}

class InFactory implements Early {
  readonly published: Promise<PublishedMessage>;

  constructor(message: PublishedMessage) {
    this.published = Promise.resolve(message);
  }
}

const FACTORY = {
  provide: InFactory,
  useFactory: async (producer: DelayQueueProducer) =>
    new InFactory(await producer.publish('jobs', 'early', { id: 'factory' })),
  inject: [DelayQueueProducer],
};

const PLACES: readonly { place: string; providers: Provider[]; early: Record<string, Type<Early>> }[] = [
  { place: 'a constructor', providers: [InConstructor], early: { constructor: InConstructor } },
  { place: 'onModuleInit', providers: [InModuleInit], early: { init: InModuleInit } },
  { place: 'an async factory', providers: [FACTORY], early: { factory: InFactory } },
  {
    place: 'all of them',
    providers: [InConstructor, InModuleInit, FACTORY],
    early: { constructor: InConstructor, init: InModuleInit, factory: InFactory },
  },
];

describe('publish() before the module is initialized', () => {
  it.each(PLACES)('waits for the connection, and the boot goes on: in $place', async ({ providers, early }) => {
    const app = await bed.start({ providers: [Jobs, ...providers] });

    for (const [id, type] of Object.entries(early)) {
      expect(await app.get(type).published).toMatchObject({ id, topic: 'jobs' });
      await app.events.acked.first((acked) => acked.id === id);
      expect(app.get(Jobs).callsOf(id)).toHaveLength(1);
    }
  });

  it('wakes consumers, as any other publish does', async () => {
    const options = { consumer: { maxIdleWait: '1m' } };
    const consumer = await bed.start({ providers: [Jobs], options });
    const publisher = await bed.start({ providers: [InConstructor], options: { consumer: false } });
    await publisher.get(InConstructor).published;
    await consumer.events.acked.first(({ id }) => id === 'constructor');

    expect(consumer.get(Jobs).ids).toEqual(['constructor']);
  });

  it('works even if the application sent a command before', async () => {
    @Injectable()
    class UsesRedis {
      readonly answer: Promise<string>;

      constructor(@Inject(DELAY_QUEUE_REDIS) redis: Redis) {
        this.answer = redis.ping();
      }
    }
    const app = await bed.start({ providers: [Jobs, UsesRedis, InConstructor] });

    expect(await app.get(UsesRedis).answer).toBe('PONG');
    await app.events.acked.first(({ id }) => id === 'constructor');
  });

  it('sends nothing to a server that is too old', async () => {
    const server = await startFakeRedis('# Server\r\nredis_version:5.0.7\r\n');
    onTestFinished(() => server.stop());
    const error = await bed.failingBoot({
      providers: [FACTORY],
      options: { redis: { host: '127.0.0.1', port: server.port }, publishTimeout: 1000 },
    });

    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error.message).toContain('6.2');
    expect(server.commands).not.toContain('EVALSHA');
    await bed.expectNothingOpen();
  });

  it.each([
    { what: 'Redis is not there', redis: async () => ({ host: '127.0.0.1', port: await freePort() }) },
    { what: 'the database is not there', redis: async () => ({ ...bed.connection, db: 99 }) },
  ])('rejects with the error of the boot if $what, and leaves nothing open', async ({ redis }) => {
    let published: Promise<unknown> = Promise.resolve();
    const settings = await redis();
    const error = await bed.failingBoot(async () => {
      const app = await bed.compile({ providers: [InConstructor], options: { redis: settings, publishTimeout: 1000 } });
      ({ published } = app.get(InConstructor));
      return app;
    });

    expect([BrokerUnavailableError, ConfigurationError]).toContain(error.constructor);
    await expect(published).rejects.toThrow(/127\.0\.0\.1/);
    await bed.expectNothingOpen();
  });
});
