import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  DelayQueueAdmin,
  DelayQueueEvents,
  DelayQueueHealth,
  DelayQueueModule,
  DelayQueueProducer,
  DelayedHandler,
  InjectDelayQueueProducer,
  type QueueEvents,
  UnhandledTopicError,
} from 'nestjs-delay-queue';
import { DelayQueueHarness } from 'nestjs-delay-queue/testing';
import { describe, expect, it } from 'vitest';
import { START, boot, bootBuilt, start, useKitBed } from '../../support/kit/kit-bed.js';
import { Jobs } from '../../support/kit/jobs.js';

useKitBed();

const PUBLISHES_ONLY = { imports: [DelayQueueModule.forRoot({ consumer: false })] };

describe('a topic that is published to and that nobody handles', () => {
  it('is warned of after 30 s, with the name that was probably meant', async () => {
    const { app, harness, producer, tape, logs } = await start();
    const errors = tape('errors');
    await producer.publish('job', 1);
    await harness.advance('29s');
    expect(logs.warnings).toEqual([]);
    expect((await app.get(DelayQueueHealth).check()).status).toBe('up');
    await harness.advance('1s');

    expect(logs.warnings).toEqual([
      "No process handles topic 'job', to which this process publishes: its messages wait until one does. Did you mean " +
        "'jobs'? If not, see that a method has @DelayedHandler('job'), that its class is a provider or controller of a " +
        "module that is imported, or that the topic is received, or named by an option 'push' or 'forward'; and that its process " +
        'runs, on the same Redis with the same prefix, and has not stopped its intake.',
    ]);
    expect(errors).toEqual([{ source: 'unhandled', topic: 'job', error: expect.any(UnhandledTopicError) as unknown }]);
    expect(errors[0]?.error).toMatchObject({ code: 'UNHANDLED_TOPIC', topic: 'job', suggestion: 'jobs' });
    expect(await app.get(DelayQueueHealth).check()).toMatchObject({
      status: 'degraded',
      problems: ["Topic 'job': this process publishes to it, and no process handles it; did you mean 'jobs'?"],
      unhandled: ['job'],
    });
  });

  it('is warned of once a process, however long it is published to', async () => {
    const { harness, producer, logs } = await start();
    for (let day = 0; day < 5; day++) {
      await producer.publish('elsewhere', day);
      await harness.advance('1d');
    }
    expect(logs.warnings).toHaveLength(1);
  });

  it('is warned of in a process that only publishes, and is well again once a process handles it', async () => {
    const harness = new DelayQueueHarness({ now: START });
    const { module, logs } = await boot(PUBLISHES_ONLY, harness);
    const health = module.get(DelayQueueHealth);
    await module.get(DelayQueueProducer).publish('jobs', 1);
    await harness.advance('1m');
    expect(logs.warnings).toEqual([expect.stringContaining("No process handles topic 'jobs'")]);
    expect(await health.check()).toMatchObject({ status: 'degraded', unhandled: ['jobs'] });

    const { module: consumer, logs: later } = await boot(
      { imports: [DelayQueueModule.forRoot()], providers: [Jobs] },
      harness,
    );
    await harness.settle();

    expect(consumer.get(Jobs).calls).toHaveLength(1);
    expect(await health.check()).toMatchObject({ status: 'up', problems: [], unhandled: [] });
    expect(later.infos.at(-1)).toBe("Topic 'jobs' is handled now");
  });

  it('is none that another process handles', async () => {
    const harness = new DelayQueueHarness({ now: START });
    const { module, logs } = await boot(PUBLISHES_ONLY, harness);
    await boot({ imports: [DelayQueueModule.forRoot()], providers: [Jobs] }, harness);
    const errors: QueueEvents['errors'][] = [];
    module.get(DelayQueueEvents).errors.subscribe((error) => errors.push(error));
    await module.get(DelayQueueProducer).publish('jobs', 1);
    await harness.advance('1h');

    expect(logs.warnings).toEqual([]);
    expect(errors).toEqual([]);
  });

  it('is none that is only looked at', async () => {
    const { harness, app, logs } = await start();
    await app.get(DelayQueueAdmin).stats('elsewhere');
    await harness.advance('1h');
    expect(logs.warnings).toEqual([]);
  });

  it('has its own handler named if that is on another connection', async () => {
    @Injectable()
    class Reports {
      constructor(@InjectDelayQueueProducer('reporting') readonly producer: DelayQueueProducer) {}

      @DelayedHandler('reports')
      handle(): void {}
    }
    const harness = new DelayQueueHarness({ now: START });
    const imports = [DelayQueueModule.forRoot(), DelayQueueModule.forRoot({ name: 'reporting' })];
    const reporting = harness.withSameClock();
    const builder = Test.createTestingModule({ imports, providers: [Reports] });
    const { module, logs } = await bootBuilt(
      reporting.override(harness.override(builder), { connection: 'reporting' }),
    );
    await module.get(Reports).producer.publish('reports', 1);
    await harness.advance('1m');

    expect(logs.warnings).toEqual([
      "No process handles topic 'reports', to which this process publishes: its messages wait until one does. " +
        "Reports.handle of this process handles a topic of that name on connection 'default', and this one is published to " +
        "on connection 'reporting': use the same one for both.",
    ]);
  });

  it('has its own handler named if this process does not consume', async () => {
    const { harness, producer, logs } = await start({ options: { consumer: false } });
    await producer.publish('jobs', 1);
    await harness.advance('1m');
    expect(logs.warnings.join()).toContain(
      "Jobs.handle of this process would, but with 'consumer: false' it only publishes: start a process that consumes.",
    );
  });
});
