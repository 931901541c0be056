import { Controller, Inject, Injectable, Module, type OnModuleInit } from '@nestjs/common';
import type { Redis } from 'ioredis';
import {
  DELAY_QUEUE_REDIS,
  type DelayedMessage,
  DelayedHandler,
  DelayQueueModule,
  type DelayQueueModuleOptions,
  type DelayQueueOptionsFactory,
  DelayQueueProducer,
} from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { Jobs } from '../support/app/jobs.js';
import { Recorder } from '../support/app/recorder.js';
import { Gate } from '../support/waiting.js';

const bed = useBed();

/** Holds the settings of an application. */
@Injectable()
class Settings {
  readonly queue: DelayQueueModuleOptions = bed.options({ defaults: { attempts: 9 } });
}

@Module({ providers: [Settings], exports: [Settings] })
class SettingsModule {
  readonly name = 'settings';
}

@Injectable()
class QueueOptions implements DelayQueueOptionsFactory {
  async createDelayQueueOptions(): Promise<DelayQueueModuleOptions> {
    return bed.options({ defaults: { attempts: 9 } });
  }
}

@Module({ providers: [QueueOptions], exports: [QueueOptions] })
class OptionsModule {
  readonly name = 'options';
}

describe('forRootAsync', () => {
  it.each([
    {
      how: 'useFactory, with imports and inject',
      module: () =>
        DelayQueueModule.forRootAsync({
          imports: [SettingsModule],
          inject: [Settings],
          useFactory: ({ queue }: Settings) => queue,
        }),
    },
    {
      how: 'an async useFactory',
      module: () =>
        DelayQueueModule.forRootAsync({ useFactory: async () => bed.options({ defaults: { attempts: 9 } }) }),
    },
    { how: 'useClass', module: () => DelayQueueModule.forRootAsync({ useClass: QueueOptions }) },
    {
      how: 'useExisting',
      module: () => DelayQueueModule.forRootAsync({ imports: [OptionsModule], useExisting: QueueOptions }),
    },
  ])('takes options from $how', async ({ module }) => {
    const app = await bed.compileWith({ imports: [module()], providers: [Jobs] });
    await app.nest.init();
    await app.producer.publish('jobs', 1);
    const [call] = await app.get(Jobs).called();
    expect(call?.message.maxAttempts).toBe(9);
    expect((await bed.keys()).length).toBeGreaterThan(0);
  });
});

describe('isGlobal', () => {
  /** Publishes, without importing the queue's module. */
  @Injectable()
  class Shop {
    constructor(readonly producer: DelayQueueProducer) {}
  }

  @Module({ providers: [Shop] })
  class ShopModule {
    readonly name = 'shop';
  }

  it('makes the import unnecessary for other modules, by default', async () => {
    const app = await bed.start({ imports: [ShopModule], providers: [Jobs] });
    await app.get(Shop).producer.publish('jobs', 'bought');
    expect(await app.get(Jobs).called()).toMatchObject([{ payload: 'bought' }]);
  });

  it('makes it unnecessary with forRootAsync, too', async () => {
    const app = await bed.compileWith({
      imports: [DelayQueueModule.forRootAsync({ useClass: QueueOptions }), ShopModule],
      providers: [Jobs],
    });
    await app.nest.init();
    await app.get(Shop).producer.publish('jobs', 'bought');
    expect(await app.get(Jobs).called()).toMatchObject([{ payload: 'bought' }]);
  });

  it.each([
    { how: 'forRoot', module: () => DelayQueueModule.forRoot({ ...bed.options(), isGlobal: false }) },
    { how: 'forRootAsync', module: () => DelayQueueModule.forRootAsync({ useClass: QueueOptions, isGlobal: false }) },
  ])('false makes the producer available only to modules that import it: $how', async ({ module }) => {
    const error = await bed.failingBoot(async () => bed.compileWith({ imports: [module(), ShopModule] }));
    expect(error.message).toContain('DelayQueueProducer');

    const app = await bed.compileWith({ imports: [module()], providers: [Shop, Jobs] });
    await app.nest.init();
    await app.get(Shop).producer.publish('jobs', 'bought');
    expect(await app.get(Jobs).called()).toMatchObject([{ payload: 'bought' }]);
  });
});

describe('consumer: false', () => {
  it('only publishes: no handler is called, and nothing is owned', async () => {
    const publisher = await bed.start({ providers: [Jobs], options: { consumer: false } });
    await publisher.producer.publish('jobs', 1, { id: 'a' });
    const consumer = await bed.start({ providers: [Jobs] });
    await consumer.events.acked.first();
    expect(consumer.get(Jobs).ids).toEqual(['a']);
    expect(publisher.get(Jobs).calls).toEqual([]);
    expect(publisher.events.ownership.past).toEqual([]);
    await consumer.close();
    expect(await bed.ofConsumers()).toEqual([]);
  });
});

describe('handlers', () => {
  it('are found on controllers', async () => {
    @Controller('jobs')
    class JobsController extends Recorder {
      @DelayedHandler('jobs')
      async work(payload: unknown, message: DelayedMessage) {
        return this.take(payload, message);
      }
    }

    const app = await bed.start({ controllers: [JobsController] });
    await app.producer.publish('jobs', 1);
    expect(await app.get(JobsController).called()).toMatchObject([{ payload: 1 }]);
  });

  it('are found in imported modules, on classes that inherit them, and on several methods', async () => {
    @Injectable()
    class Both extends Jobs {
      @DelayedHandler('more-jobs')
      async workMore(payload: unknown, message: DelayedMessage) {
        return this.take(payload, message);
      }
    }

    @Module({ providers: [Both] })
    class FeatureModule {
      readonly name = 'feature';
    }

    const app = await bed.start({ imports: [FeatureModule] });
    await app.producer.publish('jobs', 1, { id: 'a' });
    await app.producer.publish('more-jobs', 1, { id: 'b' });
    const calls = await app.get(Both).called(2);
    expect(calls.map(({ message }) => `${message.topic} ${message.id}`).toSorted()).toEqual(['jobs a', 'more-jobs b']);
  });

  it('of an instance that is provided under two tokens count as one handler', async () => {
    const app = await bed.start({ providers: [Jobs, { provide: 'alias', useExisting: Jobs }] });
    await app.producer.publish('jobs', 1, { id: 'a' });
    await app.events.acked.first();
    expect(app.get(Jobs).ids).toEqual(['a']);
  });

  it('of two topics share the limit of the process, each topic with its own messages', async () => {
    const app = await bed.start({ providers: [Jobs], options: { consumer: { concurrency: 3 } } });
    const jobs = app.get(Jobs);
    const gate = new Gate();
    let most = 0;
    jobs.respond = async () => {
      most = Math.max(most, jobs.running);
      await gate.opened;
    };
    await app.producer.publishMany(
      'jobs',
      Array.from({ length: 30 }, (_, payload) => ({ payload })),
    );
    await jobs.called(3);
    gate.open();
    await app.events.acked.take(30);
    expect(most).toBe(3);
  });
});

describe('consumption', () => {
  it('begins once the application bootstraps: not before every onModuleInit has run', async () => {
    const publisher = await bed.start({ options: { consumer: false } });
    await publisher.producer.publishMany(
      'jobs',
      Array.from({ length: 20 }, (_, payload) => ({ payload })),
    );
    const steps: string[] = [];

    @Injectable()
    class Slow implements OnModuleInit {
      constructor(private readonly producer: DelayQueueProducer) {}

      /** Takes long enough for a consumer to get a message, if one were running. */
      async onModuleInit(): Promise<void> {
        for (let i = 0; i < 20; i++) await this.producer.publish('elsewhere', i, { delay: '1h' });
        steps.push('initialized');
      }
    }

    const app = await bed.compile({ providers: [Jobs, Slow] });
    app.get(Jobs).respond = () => steps.push('handled');
    await app.nest.init();
    await app.events.acked.take(20);
    expect(steps).toEqual(['initialized', ...Array(20).fill('handled')]);
  });

  it('needs no listening server', async () => {
    const app = await bed.start({ providers: [Jobs] });
    await app.producer.publish('jobs', 1);
    expect(await app.get(Jobs).called()).toHaveLength(1);
    expect(app.nest.getHttpServer().listening).toBe(false);
  });
});

describe('the Redis client', () => {
  it('can be injected', async () => {
    @Injectable()
    class Health {
      constructor(@Inject(DELAY_QUEUE_REDIS) readonly redis: Redis) {}
    }

    const app = await bed.start({ providers: [Health] });
    expect(await app.get(Health).redis.ping()).toBe('PONG');
  });

  it.each([
    { what: 'a URL', redis: () => `redis://${bed.connection.host}:${bed.connection.port}/0` },
    { what: 'options', redis: () => bed.connection },
    { what: 'an instance, which stays untouched', redis: () => bed.redis },
  ])('is made from $what', async ({ redis }) => {
    const app = await bed.start({ providers: [Jobs], options: { redis: redis() } });
    await app.producer.publish('jobs', 1, { delay: 20 });
    expect(await app.events.acked.first()).toMatchObject({ topic: 'jobs' });
    await app.close();
    expect(await bed.redis.ping()).toBe('PONG');
  });
});
