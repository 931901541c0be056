import { trace } from '@opentelemetry/api';
import { Test } from '@nestjs/testing';
import {
  createDelayQueueAdmin,
  DelayedHandler,
  DelayQueueHealth,
  type DelayQueueModuleOptions,
  type HandlerOptions,
  OnDeadLetter,
  topic,
} from 'nestjs-delay-queue';
import { openTelemetry } from 'nestjs-delay-queue/opentelemetry';
import { prometheusMetrics } from 'nestjs-delay-queue/prometheus';
import { DelayQueueHarness, DelayQueueTestingModule } from 'nestjs-delay-queue/testing';
import { describe, expect, it } from 'vitest';
import { type KitBed, boot, start, useKitBed } from '../../support/kit/kit-bed.js';

useKitBed();

/** What does not compile, for those who do not compile. */
function untyped(value: unknown): never {
  return value as never;
}

async function bootWith(options: DelayQueueModuleOptions): Promise<void> {
  await boot({ imports: [DelayQueueTestingModule.forRoot(options)] });
}

async function bootHandler(options: HandlerOptions): Promise<void> {
  class Jobs {
    @DelayedHandler('jobs', options)
    work(): void {}
  }
  await boot({ imports: [DelayQueueTestingModule.forRoot()], providers: [Jobs] });
}

/** A misspelt option, and what was meant, wherever options are given. */
const SLIPS: readonly [where: string, given: string, meant: string, call: () => unknown][] = [
  ['the module', 'topcis', 'topics', () => bootWith(untyped({ topcis: {} }))],
  ['a topic', 'atempts', 'attempts', () => bootWith({ topics: { jobs: untyped({ atempts: 3 }) } })],
  ['all topics', 'partition', 'partitions', () => bootWith({ defaults: untyped({ partition: 3 }) })],
  ['dead letters', 'maxage', 'maxAge', () => bootWith({ defaults: { deadLetter: untyped({ maxage: 3 }) } })],
  ['the consumer', 'shutdownTimout', 'shutdownTimeout', () => bootWith({ consumer: untyped({ shutdownTimout: 3 }) })],
  ['fleet events', 'maxLenght', 'maxLength', () => bootWith({ fleetEvents: untyped({ maxLenght: 3 }) })],
  ['middleware', 'handel', 'handle', () => bootWith({ middleware: [untyped({ handel: () => {} })] })],
  [
    'forRootAsync()',
    'useFactroy',
    'useFactory',
    () => DelayQueueTestingModule.forRootAsync(untyped({ useFactroy: 1 })),
  ],
  ['a handler', 'concurency', 'concurrency', () => bootHandler(untyped({ concurency: 3 }))],
  [
    'a hook',
    'conection',
    'connection',
    () => {
      class Jobs {
        @OnDeadLetter('jobs', untyped({ conection: 'a' }))
        onDead(): void {}
      }
      return boot({ imports: [DelayQueueTestingModule.forRoot()], providers: [Jobs] });
    },
  ],
  ['topic()', 'shema', 'schema', () => topic('jobs', untyped({ shema: {} }))],
  ['createDelayQueueAdmin()', 'prefx', 'prefix', () => createDelayQueueAdmin(untyped({ prefx: 'a' }))],
  ['prometheusMetrics()', 'bukets', 'buckets', () => prometheusMetrics(untyped({ bukets: {} }))],
  ['openTelemetry()', 'traceProvider', 'tracerProvider', () => openTelemetry(untyped({ traceProvider: trace }))],
  ['the harness', 'pacience', 'patience', () => new DelayQueueHarness(untyped({ pacience: 1 }))],
  [
    'override()',
    'conection',
    'connection',
    () => new DelayQueueHarness().override(Test.createTestingModule({}), untyped({ conection: 'a' })),
  ],
];

/** The same, of an application that runs. */
const CALLS: readonly [where: string, given: string, meant: string, call: (bed: KitBed) => unknown][] = [
  ['publish()', 'dealy', 'delay', ({ producer }) => producer.publish('jobs', 1, untyped({ dealy: 5 }))],
  [
    'a backoff',
    'facter',
    'factor',
    ({ producer }) => producer.publish('jobs', 1, { backoff: untyped({ type: 'exponential', delay: 1, facter: 2 }) }),
  ],
  ['publishMany()', 'paylaod', 'payload', ({ producer }) => producer.publishMany('jobs', [untyped({ paylaod: 1 })])],
  [
    'reschedule()',
    'deliverAtt',
    'deliverAt',
    ({ producer }) => producer.reschedule('jobs', 'a', untyped({ deliverAtt: 1 })),
  ],
  ['peek()', 'limt', 'limit', ({ admin }) => admin.peek('jobs', 'due', untyped({ limt: 1 }))],
  ['drain()', 'dryrun', 'dryRun', ({ admin }) => admin.drain('jobs', untyped({ dryrun: true }))],
  ['purge()', 'dry_run', 'dryRun', ({ admin }) => admin.purge('jobs', untyped({ dry_run: true }))],
  ['requeue()', 'payloads', 'payload', ({ admin }) => admin.requeue('jobs', 'a', untyped({ payloads: 1 }))],
  ['remove()', 'rates', 'rate', ({ admin }) => admin.remove('jobs', 'a', untyped({ rates: 1 }))],
  ['a filter', 'reasons', 'reason', ({ admin }) => admin.requeue('jobs', untyped({ reasons: 'failed' }))],
  ['check()', 'timout', 'timeout', ({ app }) => app.get(DelayQueueHealth).check(untyped({ timout: 1 }))],
  [
    'failNext()',
    'lostReplay',
    'lostReply',
    ({ harness }) => harness.failNext('publish', untyped({ lostReplay: true })),
  ],
];

async function messageOf(call: () => unknown): Promise<string> {
  try {
    await call();
  } catch (error) {
    return (error as Error).message;
  }
  return expect.fail('it was accepted');
}

describe('a misspelt option is answered with the one that was meant, in', () => {
  it.each([...SLIPS, ...CALLS])('%s: %s, for %s', async (_, given, meant, call) => {
    const bed = call.length === 0 ? undefined : await start();
    const message = await messageOf(() => call(bed as KitBed));
    expect(message).toContain(`There is no option '${given}' in `);
    expect(message).toContain(`. Did you mean '${meant}'? Known options: `);
  });
});
