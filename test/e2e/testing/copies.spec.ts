import { Inject, Injectable, Module } from '@nestjs/common';
import { LazyModuleLoader } from '@nestjs/core';
import { TerminusModule } from '@nestjs/terminus';
import { Test } from '@nestjs/testing';
import type { DelayQueueProducer } from 'nestjs-delay-queue';
import type { DelayQueueHarness } from 'nestjs-delay-queue/testing';
import { describe, expect, it } from 'vitest';
import { VERSION } from '../../support/internals.js';
import { forgetCopies, loadCopy, loadVersion } from '../../support/kit/another-copy.js';
import { START, bootBuilt, useKitBed } from '../../support/kit/kit-bed.js';
import { bootWorker, throws, useTwoCopies, worker } from '../../support/kit/two-copies.js';

useKitBed();
const copies = useTwoCopies();

describe('what another copy decorates and injects', () => {
  it('is found and works', async () => {
    const { work, harness } = await bootWorker(copies);
    await work.producer.publish('jobs', 21);
    await harness.settle();
    expect(work.calls.map(({ payload }) => payload)).toEqual([42]);
  });

  it('is told of dead letters', async () => {
    const { work, harness } = await bootWorker(copies, throws(new copies.there.UnrecoverableError('no use')));
    await work.producer.publish('jobs', 1, { id: 'one' });
    await harness.settle();
    expect(work.letters).toMatchObject([{ id: 'one', failure: { reason: 'unrecoverable' } }]);
  });

  it('is what the testing module exports, too', async () => {
    @Injectable()
    class Deep {
      constructor(@Inject(copies.there.DelayQueueHarness) readonly harness: DelayQueueHarness) {}
    }
    @Module({ providers: [Deep], exports: [Deep] })
    class DeepModule {}
    const { module } = await bootBuilt(
      Test.createTestingModule({ imports: [copies.here.DelayQueueTestingModule.forRoot(), DeepModule] }),
    );
    expect(module.get(Deep).harness).toBe(module.get(copies.here.DelayQueueHarness));
  });

  it('is the same instance for every copy, of each class that a module exports', async () => {
    const { module } = await bootWorker(copies);
    expect(module.get(copies.there.DelayQueueProducer)).toBe(module.get(copies.here.DelayQueueProducer));
    expect(module.get(copies.there.DelayQueueAdmin)).toBe(module.get(copies.here.DelayQueueAdmin));
    expect(module.get(copies.there.DelayQueueEvents)).toBe(module.get(copies.here.DelayQueueEvents));
    expect(module.get(copies.there.DelayQueueHealth)).toBe(module.get(copies.here.DelayQueueHealth));
    expect(module.get(copies.there.DELAY_QUEUE_REDIS)).toBe(module.get(copies.here.DELAY_QUEUE_REDIS));
    expect(module.get(copies.there.DelayQueueHarness)).toBe(module.get(copies.here.DelayQueueHarness));
  });

  it('is what a test has put in the place of the class of the module', async () => {
    const fake = { publish: () => 'fake' };
    const { module } = await bootBuilt(
      Test.createTestingModule({
        imports: [copies.here.DelayQueueTestingModule.forRoot()],
        providers: [worker(copies.there)],
      })
        .overrideProvider(copies.here.DelayQueueProducer)
        .useValue(fake),
    );
    expect(module.get(copies.there.DelayQueueProducer)).toBe(fake);
  });

  it('is the producer of a named connection', async () => {
    @Injectable()
    class Billing {
      constructor(@copies.there.InjectDelayQueueProducer('billing') readonly producer: DelayQueueProducer) {}
    }
    const { module } = await bootBuilt(
      Test.createTestingModule({
        imports: [copies.here.DelayQueueTestingModule.forRoot({ name: 'billing' })],
        providers: [Billing],
      }),
    );
    expect(module.get(Billing).producer).toBeInstanceOf(copies.here.DelayQueueProducer);
    expect(() => module.get(copies.there.DelayQueueProducer)).toThrow('could not find DelayQueueProducer');
  });
});

describe('a copy that is loaded late', () => {
  it('is served if the application is created after it', async () => {
    const queue = copies.here.DelayQueueTestingModule.forRoot();
    const late = await loadCopy();
    const { module } = await bootBuilt(Test.createTestingModule({ imports: [queue], providers: [worker(late)] }));
    expect(module.get(late.DelayQueueProducer)).toBe(module.get(copies.here.DelayQueueProducer));
    expect(module.get(late.DelayQueueHarness)).toBe(module.get(copies.here.DelayQueueHarness));
  });

  it('is served by DelayQueueModule too, to those who import it', async () => {
    const queue = copies.here.DelayQueueModule.forRootAsync({ isGlobal: false, useFactory: () => ({}) });
    const late = await loadCopy();
    const Worker = worker(late);
    @Module({ imports: [queue], providers: [Worker], exports: [Worker] })
    class FeatureModule {}
    const harness = new copies.here.DelayQueueHarness();
    const { module } = await bootBuilt(harness.override(Test.createTestingModule({ imports: [FeatureModule] })));
    expect(module.get(Worker).producer).toBeInstanceOf(copies.here.DelayQueueProducer);
  });

  it('is warned of as soon as it is loaded, which explains what Nest cannot inject', async () => {
    forgetCopies();
    const only = await loadCopy();
    const { module, logs } = await bootBuilt(
      Test.createTestingModule({ imports: [only.DelayQueueTestingModule.forRoot()] }),
    );
    expect(logs.warnings).toEqual([]);

    const late = await loadCopy();
    expect(logs.warnings).toEqual([expect.stringContaining('2 copies of nestjs-delay-queue')]);
    expect(logs.warnings[0]).toContain('only be injected if the copy was loaded before the application was created');
    @Module({ providers: [worker(late)] })
    class LateModule {}
    const loading = module.get(LazyModuleLoader).load(() => LateModule);
    await expect(loading).rejects.toThrow("can't resolve dependencies of the Worker (?)");
  });
});

describe('the testing kit of another copy', () => {
  it('replaces what the module has', async () => {
    const Worker = worker(copies.here);
    const harness = new copies.there.DelayQueueHarness({ now: START });
    const { module } = await bootBuilt(
      harness.override(
        Test.createTestingModule({
          imports: [copies.here.DelayQueueModule.forRoot({ redis: 'redis://127.0.0.1:1' })],
          providers: [Worker],
        }),
      ),
    );
    const work = module.get(Worker);
    work.respond = ({ attempt }) => attempt < 2 && Promise.reject(new Error('not yet'));
    await work.producer.publish('jobs', 4, { delay: '7d' });
    await harness.advance('8d');
    expect(work.calls.map(({ payload, attempt }) => [payload, attempt])).toEqual([
      [8, 1],
      [8, 2],
    ]);
  });

  it('says so if it is of another version', async () => {
    const other = await loadVersion('9.8.7');
    const builder = Test.createTestingModule({ imports: [copies.here.DelayQueueModule.forRoot()] });
    const compiling = new other.DelayQueueHarness().override(builder).compile();
    await expect(compiling).rejects.toThrow(
      `The testing kit is that of nestjs-delay-queue 9.8.7, and the application imports DelayQueueModule of ${VERSION}`,
    );
    await expect(compiling).rejects.toBeInstanceOf(copies.here.ConfigurationError);
  });
});

it('the health indicator of another copy finds the health of the module', async () => {
  const { DelayQueueHealthIndicator } = await import('nestjs-delay-queue/terminus');
  const { module } = await bootBuilt(
    Test.createTestingModule({
      imports: [copies.here.DelayQueueTestingModule.forRoot(), TerminusModule],
      providers: [DelayQueueHealthIndicator],
    }),
  );
  expect(await module.get(DelayQueueHealthIndicator).isHealthy('queue')).toMatchObject({ queue: { status: 'up' } });
});

describe('the warning', () => {
  it('comes once, with what each copy is and where it lies', async () => {
    const other = await loadVersion('9.8.7');
    const booted = [];
    for (const copy of [copies.here, copies.there, copies.here, other]) {
      booted.push(
        await bootBuilt(
          Test.createTestingModule({
            imports: [
              copy.DelayQueueTestingModule.forRoot(),
              copy.DelayQueueTestingModule.forRoot({ name: 'billing' }),
            ],
          }),
        ),
      );
    }
    const warnings = booted.flatMap(({ logs }) => logs.warnings);
    const folder = String.raw` in \S+/lib`;
    const mine = `${VERSION.replaceAll('.', String.raw`\.`)}${folder}`;
    expect(warnings).toEqual([
      expect.stringMatching(
        String.raw`^3 copies .+ in this process: ${mine}; ${mine}; 9\.8\.7${folder}\. They work together`,
      ),
    ]);
  });

  it('does not come for one copy', async () => {
    forgetCopies();
    const only = await loadCopy();
    const { logs } = await bootBuilt(Test.createTestingModule({ imports: [only.DelayQueueTestingModule.forRoot()] }));
    expect(logs.warnings).toEqual([]);
  });
});
