import { inspect } from 'node:util';
import { Inject, Injectable, Module, Optional } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import type { Redis } from 'ioredis';
import {
  ConfigurationError,
  DELAY_QUEUE_REDIS,
  DelayQueueAdmin,
  DelayQueueEvents,
  DelayQueueModule,
  type DelayQueueModuleOptions,
  DelayQueueProducer,
  DelayedHandler,
  InjectDelayQueueProducer,
  InjectDelayQueueRedis,
} from 'nestjs-delay-queue';
import { DelayQueueHarness, DelayQueueTestingModule, getDelayQueueHarnessToken } from 'nestjs-delay-queue/testing';
import { describe, expect, it } from 'vitest';
import { START, boot, bootBuilt, start, useKitBed } from '../../support/kit/kit-bed.js';
import { Jobs } from '../../support/kit/jobs.js';

useKitBed();

it.each([undefined, null])('a factory that returns %s instead of options fails the boot', async (nothing) => {
  const queue = DelayQueueModule.forRootAsync({ useFactory: () => nothing as never });
  await expect(boot({ imports: [queue] })).rejects.toThrow(
    `What makes the options of DelayQueueModule.forRootAsync() has returned ${nothing}.`,
  );
});

describe('DelayQueueModule without forRoot()', () => {
  it('fails the boot', async () => {
    const making = Test.createTestingModule({ imports: [DelayQueueModule] }).compile();
    await expect(making.then(async (module) => module.init())).rejects.toThrow(ConfigurationError);
  });

  it('is nothing more in a module beside the one that has the connection', async () => {
    @Module({ imports: [DelayQueueModule] })
    class FeatureModule {}
    const { module } = await boot({ imports: [DelayQueueTestingModule.forRoot(), FeatureModule] });
    expect(module.get(DelayQueueProducer)).toBeDefined();
  });
});

describe('DelayQueueTestingModule', () => {
  it('provides what DelayQueueModule provides, to every module', async () => {
    @Injectable()
    class Deep {
      constructor(
        readonly producer: DelayQueueProducer,
        readonly admin: DelayQueueAdmin,
        readonly events: DelayQueueEvents,
        @Inject(DELAY_QUEUE_REDIS) readonly redis: Redis,
        readonly harness: DelayQueueHarness,
      ) {}
    }
    @Module({ providers: [Deep] })
    class DeepModule {}

    const { module } = await boot({ imports: [DelayQueueTestingModule.forRoot(), DeepModule] });

    const deep = module.get(Deep);
    expect(deep.producer).toBe(module.get(DelayQueueProducer));
    expect(deep.admin).toBe(module.get(DelayQueueAdmin));
    expect(deep.events).toBe(module.get(DelayQueueEvents));
    expect(deep.harness).toBe(module.get(DelayQueueHarness));
  });

  it("takes the application's options, whatever Redis they name, and heeds all others", async () => {
    for (const redis of ['redis://nowhere.invalid', '', undefined, { host: 'nowhere.invalid' }]) {
      const options = {
        redis,
        defaults: { attempts: 1 },
        topics: { jobs: { partitions: 3 } },
      } as DelayQueueModuleOptions;
      const { harness, producer, admin, app } = await start({ options });
      await producer.publish('jobs', 1);
      await harness.settle();
      expect((await admin.stats('jobs')).partitions).toHaveLength(3);
      await app.close();
    }
  });

  it('fails the boot for options that are wrong', async () => {
    const options = { consumer: { lease: '1ms' } };
    await expect(boot({ imports: [DelayQueueTestingModule.forRoot(options)] })).rejects.toThrow(ConfigurationError);
    const wrong = { prefxi: 'a' } as DelayQueueModuleOptions;
    await expect(boot({ imports: [DelayQueueTestingModule.forRoot(wrong)] })).rejects.toThrow("no option 'prefxi'");
  });

  it('fails the boot for a name that no connection can have', async () => {
    const booting = boot({ imports: [DelayQueueTestingModule.forRoot({ name: 'no {name}' })] });
    await expect(booting).rejects.toThrow('DelayQueueModule: A connection must be 1 to 128 characters');
    await expect(booting).rejects.toThrow(ConfigurationError);
  });

  it('injects what a test has put in the place of a class, also where a decorator asks for it', async () => {
    @Injectable()
    class Shop {
      constructor(
        readonly producer: DelayQueueProducer,
        @InjectDelayQueueProducer() readonly same: DelayQueueProducer,
      ) {}
    }
    const fake = { publish: () => 'fake' };
    const { module } = await bootBuilt(
      Test.createTestingModule({ imports: [DelayQueueTestingModule.forRoot()], providers: [Shop] })
        .overrideProvider(DelayQueueProducer)
        .useValue(fake),
    );
    expect(module.get(Shop).producer).toBe(fake);
    expect(module.get(Shop).same).toBe(fake);
  });

  it('only publishes if the options say so', async () => {
    const { harness, producer, jobs } = await start({ options: { consumer: false } });
    await producer.publish('jobs', 1);
    await harness.advance('1d');
    expect(jobs.calls).toEqual([]);
    expect(harness.scheduled('jobs')).toHaveLength(1);
  });

  it('is not a global module if isGlobal is false', async () => {
    @Injectable()
    class Looking {
      constructor(@Optional() readonly harness?: DelayQueueHarness) {}
    }
    @Module({ providers: [Looking] })
    class Unaware {}
    @Module({ imports: [DelayQueueTestingModule.forRoot({ isGlobal: false })], providers: [Looking] })
    class Aware {}

    const { module } = await boot({ imports: [Aware, Unaware] });

    const seen = [Aware, Unaware].map((host) => module.select(host).get(Looking, { strict: true }).harness);
    expect(seen).toEqual([module.get(DelayQueueHarness), undefined]);
  });

  it('takes options from a factory', async () => {
    const { module } = await boot({
      imports: [
        DelayQueueTestingModule.forRootAsync(
          { useFactory: async () => ({ redis: 'redis://nowhere.invalid', defaults: { partitions: 2 } }) },
          { now: START },
        ),
      ],
      providers: [Jobs],
    });
    const harness = module.get(DelayQueueHarness);
    expect(harness.now).toEqual(START);
    await module.get(DelayQueueProducer).publish('jobs', 1, { delay: '1d' });
    await harness.advance('1d');
    expect(module.get(Jobs).calls).toHaveLength(1);
    expect((await module.get(DelayQueueAdmin).stats('jobs')).partitions).toHaveLength(2);
  });

  it('makes a harness for each application, so that two share nothing', async () => {
    @Module({ imports: [DelayQueueTestingModule.forRoot({}, { now: START })], providers: [Jobs] })
    class AppModule {}
    const [first, second] = await Promise.all([boot({ imports: [AppModule] }), boot({ imports: [AppModule] })]);
    const harnesses = [first, second].map(({ module }) => module.get(DelayQueueHarness)) as [
      DelayQueueHarness,
      DelayQueueHarness,
    ];
    await first.module.get(DelayQueueProducer).publish('jobs', 1, { id: 'a', delay: '1d' });
    await second.module.get(DelayQueueProducer).publish('jobs', 2, { id: 'a', delay: '1d' });

    await harnesses[0].advance('1d');
    harnesses[0].disconnect();

    expect(first.module.get(Jobs).calls).toMatchObject([{ payload: 1 }]);
    expect(second.module.get(Jobs).calls).toEqual([]);
    expect(harnesses[1].now).toEqual(START);
    expect(harnesses[1].published('jobs')).toMatchObject([{ payload: 2 }]);
    await harnesses[1].advance('1d');
    expect(second.module.get(Jobs).calls).toMatchObject([{ payload: 2 }]);
  });
});

describe('a named connection', () => {
  it('has a harness of its own', async () => {
    @Injectable()
    class Invoices {
      readonly handled: unknown[] = [];

      constructor(@InjectDelayQueueProducer('billing') readonly producer: DelayQueueProducer) {}

      @DelayedHandler('invoice.reminder', { connection: 'billing' })
      remind(payload: unknown): void {
        this.handled.push(payload);
      }
    }
    const { module } = await boot({
      imports: [DelayQueueTestingModule.forRoot(), DelayQueueTestingModule.forRoot({ name: 'billing' })],
      providers: [Invoices, Jobs],
    });
    const main = module.get<DelayQueueHarness>(getDelayQueueHarnessToken());
    const billing = module.get<DelayQueueHarness>(getDelayQueueHarnessToken('billing'));
    expect(main).toBe(module.get(DelayQueueHarness));
    expect(billing).not.toBe(main);
    await module.get(Invoices).producer.publish('invoice.reminder', 1, { delay: '7d' });

    await main.advance('30d');
    expect(module.get(Invoices).handled).toEqual([]);
    await billing.advance('7d');

    expect(module.get(Invoices).handled).toEqual([1]);
    expect(main.published('invoice.reminder')).toEqual([]);
    expect(billing.published('invoice.reminder')).toHaveLength(1);
  });
});

describe('DELAY_QUEUE_REDIS', () => {
  @Injectable()
  class Cache {
    constructor(
      @Inject(DELAY_QUEUE_REDIS) readonly redis: Redis,
      @InjectDelayQueueRedis() readonly same: Redis,
    ) {}
  }

  it('can be injected, and says what to do when it is used', async () => {
    const { app } = await start({ providers: [Cache] });
    const { redis, same } = app.get(Cache);
    expect(redis).toBe(same);
    for (const use of [() => redis.get('a'), () => redis.on('error', () => {}), () => redis.scanStream()]) {
      expect(use).toThrow(ConfigurationError);
      expect(use).toThrow('overrideProvider(DELAY_QUEUE_REDIS)');
    }
    expect(inspect(redis)).toBe('{}');
  });

  it('can be another client, as the message says', async () => {
    const mock = { get: async () => 'cached' };
    const module = await Test.createTestingModule({ imports: [DelayQueueTestingModule.forRoot()], providers: [Cache] })
      .overrideProvider(DELAY_QUEUE_REDIS)
      .useValue(mock)
      .compile();
    expect(await module.get(Cache).redis.get('a')).toBe('cached');
  });
});
