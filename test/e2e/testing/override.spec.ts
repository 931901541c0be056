import { setTimeout } from 'node:timers/promises';
import { Injectable, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  DelayQueueModule,
  DelayQueueProducer,
  DelayedHandler,
  InjectDelayQueueProducer,
  InvalidArgumentError,
} from 'nestjs-delay-queue';
import { DelayQueueHarness } from 'nestjs-delay-queue/testing';
import { describe, expect, it } from 'vitest';
import { START, boot, bootBuilt, useKitBed } from '../../support/kit/kit-bed.js';
import { Jobs } from '../../support/kit/jobs.js';

/** Nothing listens there: an application that is not overridden does not boot. */
const NOWHERE = 'redis://127.0.0.1:1';

@Injectable()
class AppConfig {
  readonly redisUrl = NOWHERE;
}

@Module({ providers: [AppConfig], exports: [AppConfig] })
class ConfigModule {}

@Module({
  imports: [
    DelayQueueModule.forRootAsync({
      imports: [ConfigModule],
      inject: [AppConfig],
      useFactory: async ({ redisUrl }: AppConfig) => ({
        redis: redisUrl,
        publishTimeout: 100,
        defaults: { attempts: 2 },
      }),
    }),
  ],
  providers: [Jobs],
  exports: [Jobs],
})
class InfrastructureModule {}

@Module({ imports: [InfrastructureModule] })
class AppModule {}

@Injectable()
class Invoices {
  readonly handled: unknown[] = [];

  constructor(@InjectDelayQueueProducer('billing') readonly producer: DelayQueueProducer) {}

  @DelayedHandler('invoice.reminder', { connection: 'billing' })
  remind(payload: unknown): void {
    this.handled.push(payload);
  }
}

/** An application with two connections, and a message in each that is due in 7 days. */
async function bootBoth(main: DelayQueueHarness, billing: DelayQueueHarness) {
  const builder = Test.createTestingModule({
    imports: [AppModule, DelayQueueModule.forRoot({ name: 'billing', redis: NOWHERE })],
    providers: [Invoices],
  });
  const { module } = await bootBuilt(billing.override(main.override(builder), { connection: 'billing' }));
  const invoices = module.get(Invoices);
  const jobs = module.get(Jobs);
  const producer = module.get(DelayQueueProducer);
  await invoices.producer.publish('invoice.reminder', 1, { delay: '7d' });
  await producer.publish('jobs', 2, { delay: '7d' });
  return { invoices, jobs, producer };
}

useKitBed();

describe('override', () => {
  it('puts the harness under an application that imports the module deep down', async () => {
    const harness = new DelayQueueHarness({ now: START });
    const { module } = await boot({ imports: [AppModule] }, harness);
    const jobs = module.get(Jobs);
    jobs.harness = harness;
    await module.get(DelayQueueProducer).publish('jobs', 1, { delay: '30d' });

    await harness.advance('30d');

    expect(jobs.calls).toMatchObject([{ payload: 1, at: new Date('2026-01-31T00:00:00Z') }]);
  });

  it('answers the builder, and works on an application with a server', async () => {
    const harness = new DelayQueueHarness();
    const builder = Test.createTestingModule({ imports: [AppModule] });
    expect(harness.override(builder)).toBe(builder);
    const app = (await builder.compile()).createNestApplication({ logger: false });
    await app.listen(0, '127.0.0.1');
    await app.get(DelayQueueProducer).publish('jobs', 1);
    await harness.settle();
    expect(app.get(Jobs).calls).toHaveLength(1);
    await app.close();
  });

  it('leaves the application as it is if it is not called', async () => {
    await expect(boot({ imports: [AppModule] })).rejects.toThrow('ECONNREFUSED');
  });

  it('takes the name of a connection; each takes a harness of its own', async () => {
    const [main, billing] = [new DelayQueueHarness(), new DelayQueueHarness()];
    const { invoices, jobs } = await bootBoth(main, billing);

    await billing.advance('7d');

    expect([invoices.handled, jobs.calls]).toEqual([[1], []]);
    await main.advance('7d');
    expect(jobs.calls).toMatchObject([{ payload: 2 }]);
    expect(main.published('invoice.reminder')).toEqual([]);
  });

  it('moves all connections whose harnesses have the same clock', async () => {
    const main = new DelayQueueHarness({ now: START });
    const billing = main.withSameClock();
    const { invoices, jobs, producer } = await bootBoth(main, billing);

    await billing.advance('3d');
    await main.advance('4d');

    expect([invoices.handled, jobs.calls.length]).toEqual([[1], 1]);
    expect(billing.now).toEqual(new Date('2026-01-08T00:00:00Z'));
    expect([main.published('invoice.reminder'), billing.published('jobs')]).toEqual([[], []]);
    billing.disconnect();
    await expect(producer.publish('jobs', 3)).resolves.toMatchObject({ topic: 'jobs' });
  });

  it('waits for the handlers of each connection, even if their messages have the same names', async () => {
    @Injectable()
    class SlowJobs {
      handled = 0;

      @DelayedHandler('jobs', { connection: 'billing' })
      async handle(): Promise<void> {
        await setTimeout(50);
        this.handled++;
      }
    }
    const main = new DelayQueueHarness({ patience: '10s' });
    const billing = main.withSameClock();
    const builder = Test.createTestingModule({
      imports: [AppModule, DelayQueueModule.forRoot({ name: 'billing', redis: NOWHERE })],
      providers: [Invoices, SlowJobs],
    });
    const { module } = await bootBuilt(billing.override(main.override(builder), { connection: 'billing' }));
    for (const producer of [module.get(Invoices).producer, module.get(DelayQueueProducer)]) {
      await producer.publish('jobs', 1, { id: 'a' });
    }

    await main.settle();

    expect(module.get(Jobs).ids).toEqual(['a']);
    expect(module.get(SlowJobs).handled).toBe(1);
  });

  it('keeps the harnesses of two applications apart', async () => {
    const harnesses = [new DelayQueueHarness(), new DelayQueueHarness()] as const;
    const [first, second] = await Promise.all(harnesses.map((harness) => boot({ imports: [AppModule] }, harness)));
    await first?.module.get(DelayQueueProducer).publish('jobs', 1, { id: 'a' });
    await Promise.all(harnesses.map((harness) => harness.advance('1d')));

    expect(first?.module.get(Jobs).ids).toEqual(['a']);
    expect(second?.module.get(Jobs).ids).toEqual([]);
    expect(harnesses[1].published('jobs')).toEqual([]);
  });

  it('lets the processes of a fleet share a harness', async () => {
    const harness = new DelayQueueHarness();
    const Api = DelayQueueModule.forRoot({ redis: NOWHERE, consumer: false });
    const { module: api } = await boot({ imports: [Api], providers: [Jobs] }, harness);
    const workers = [await boot({ imports: [AppModule] }, harness), await boot({ imports: [AppModule] }, harness)];
    const jobsOf = workers.map(({ module }) => module.get(Jobs));
    const publish = (ids: readonly string[]): Promise<unknown> =>
      api.get(DelayQueueProducer).publishMany(
        'jobs',
        ids.map((id) => ({ payload: id, options: { id, delay: '1d' } })),
      );

    const ids = Array.from({ length: 40 }, (_, i) => `m${i}`);
    await publish(ids);
    await harness.advance('1d');

    expect(jobsOf.flatMap((jobs) => jobs.ids).toSorted()).toEqual(ids.toSorted());
    for (const jobs of jobsOf) expect(jobs.ids.length).toBeGreaterThan(0);
    expect(api.get(Jobs).calls).toEqual([]);

    await workers[0]?.module.close();
    await publish(['last']);
    await harness.advance('1d');
    expect(jobsOf[1]?.ids).toContain('last');
  });

  it.each([[{ connection: 'no name' }], [{ conection: 'billing' }]])('refuses %o', (options) => {
    const builder = Test.createTestingModule({});
    expect(() => new DelayQueueHarness().override(builder, options as object)).toThrow(InvalidArgumentError);
  });
});
