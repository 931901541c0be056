import { type DynamicModule, Injectable, Module, type Type } from '@nestjs/common';
import {
  DelayQueueModule,
  type DelayQueueModuleOptions,
  DelayQueueProducer,
  InjectDelayQueueProducer,
} from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { useBed } from '../../support/app/bed.js';
import { Jobs } from '../../support/app/jobs.js';
import { BillingJobs } from '../../support/app/billing-jobs.js';
import { Gate } from '../../support/waiting.js';

@Injectable()
class Orders {
  constructor(readonly producer: DelayQueueProducer) {}
}

@Injectable()
class BillingOrders {
  constructor(@InjectDelayQueueProducer('billing') readonly producer: DelayQueueProducer) {}
}

const bed = useBed();

/** A feature module that imports the queue itself. */
function feature(queue: DynamicModule, provider: Type): Type {
  @Module({ imports: [queue], providers: [provider] })
  class FeatureModule {
    readonly name = 'feature';
  }
  return FeatureModule;
}

interface Way {
  readonly how: string;
  /** How many modules Nest makes of it. */
  readonly modules: 1 | 2;
  /** What each of the two features imports. */
  readonly queues: (options: DelayQueueModuleOptions) => [DynamicModule, DynamicModule];
}

const WAYS: Way[] = [
  {
    how: 'two calls of forRoot() with equal options',
    modules: 2,
    queues: (options) => [DelayQueueModule.forRoot(structuredClone(options)), DelayQueueModule.forRoot(options)],
  },
  {
    how: 'two calls of forRoot() with equal options, not global',
    modules: 2,
    queues: (options) => [
      DelayQueueModule.forRoot({ ...options, isGlobal: false }),
      DelayQueueModule.forRoot({ ...options, isGlobal: false }),
    ],
  },
  {
    how: 'forRoot() and forRootAsync() with equal options',
    modules: 2,
    queues: ({ name, ...options }) => [
      DelayQueueModule.forRoot({ ...(name !== undefined && { name }), ...options }),
      DelayQueueModule.forRootAsync({
        ...(name !== undefined && { name }),
        useFactory: async () => structuredClone(options),
      }),
    ],
  },
  {
    how: 'one module object',
    modules: 1,
    queues: (options) => {
      const queue = DelayQueueModule.forRoot(options);
      return [queue, queue];
    },
  },
];

describe.each(WAYS)('a module that is imported twice, as $how', ({ queues, modules }) => {
  it('handles each message once, with one concurrency, as one member of the group', async () => {
    const [first, second] = queues(bed.options({ consumer: { concurrency: 3 }, defaults: { partitions: 4 } }));
    const app = await bed.compileWith({ imports: [feature(first, Orders), feature(second, Jobs)] });
    const jobs = app.get(Jobs);
    const gate = new Gate();
    let most = 0;
    jobs.respond = async () => {
      most = Math.max(most, jobs.running);
      await gate.opened;
    };
    await app.nest.init();
    const { producer } = app.get(Orders);
    await producer.publishMany(
      'jobs',
      Array.from({ length: 30 }, (_, i) => ({ payload: i, options: { id: `m${i}` } })),
    );
    await jobs.called(3);
    expect(await bed.sessions()).toHaveLength(1);
    gate.open();
    await jobs.called(30);
    // One more message, which would come after a second delivery of the others.
    await producer.publish('jobs', 'last', { id: 'last' });
    await jobs.called(31);

    expect(most).toBe(3);
    expect(jobs.ids.toSorted((a, b) => a.localeCompare(b))).toEqual(
      ['last', ...Array.from({ length: 30 }, (_, i) => `m${i}`)].toSorted((a, b) => a.localeCompare(b)),
    );
  });

  it('causes the advice to import it once, if there are two modules', async () => {
    const [first, second] = queues(bed.options());
    const app = await bed.compileWith({ imports: [feature(first, Orders), feature(second, Jobs)] });
    await app.nest.init();
    const warnings = app.logs.warnings.filter((warning) => warning.includes("more than once as connection 'default'"));
    expect(warnings).toHaveLength(modules - 1);
    expect(await bed.connections()).toBe(modules * 2);
  });

  it('does so as a named connection', async () => {
    const [first, second] = queues({ name: 'billing', ...bed.options() });
    const app = await bed.compileWith(
      { imports: [first, feature(first, BillingOrders), feature(second, BillingJobs)] },
      'billing',
    );
    await app.nest.init();
    await app.get(BillingOrders).producer.publish('jobs', 1, { id: 'a' });
    const jobs = app.get(BillingJobs);
    await jobs.called();
    await app.get(BillingOrders).producer.publish('jobs', 2, { id: 'b' });
    await jobs.called(2);

    expect(jobs.ids).toEqual(['a', 'b']);
    expect(await bed.sessions()).toHaveLength(1);
  });

  it('leaves nothing behind when the application is closed', async () => {
    const [first, second] = queues(bed.options());
    const app = await bed.compileWith({ imports: [feature(first, Orders), feature(second, Jobs)] });
    await app.nest.init();
    await app.close();
    await bed.expectNothingOpen();
    expect(await bed.ofConsumers()).toEqual([]);
  });
});
