import assert from 'node:assert/strict';
import type { INestApplicationContext, ModuleMetadata } from '@nestjs/common';
import { Test, type TestingModuleBuilder } from '@nestjs/testing';
import {
  DelayQueueAdmin,
  DelayQueueEvents,
  type DelayQueueModuleOptions,
  DelayQueueProducer,
  type QueueEvents,
} from 'nestjs-delay-queue';
import { DelayQueueHarness, DelayQueueTestingModule, type HarnessOptions } from 'nestjs-delay-queue/testing';
import type { Observable } from 'rxjs';
import { afterEach, beforeEach } from 'vitest';
import { LogBook } from '../app/log-book.js';
import { eventually } from '../waiting.js';
import { Jobs } from './jobs.js';

/** When time begins in these tests. */
export const START = new Date('2026-01-01T00:00:00Z');

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const DAY = 24 * 60 * MINUTE;

export interface Setup extends HarnessOptions, Pick<ModuleMetadata, 'imports' | 'providers'> {
  readonly options?: DelayQueueModuleOptions;
}

/** An application on the testing module, and what tests look at. */
export interface KitBed {
  readonly app: INestApplicationContext;
  readonly harness: DelayQueueHarness;
  readonly producer: DelayQueueProducer;
  readonly admin: DelayQueueAdmin;
  readonly jobs: Jobs;
  readonly logs: LogBook;
  /** Events of one kind since the application booted. */
  readonly tape: <K extends keyof QueueEvents>(kind: K) => QueueEvents[K][];
  /** Milliseconds since {@link START}. */
  readonly elapsed: () => number;
}

const opened: INestApplicationContext[] = [];

/** To be called in each file: closes what a test has opened, and sees that nothing of it is left. */
export function useKitBed(): void {
  let before: Handles;
  beforeEach(() => {
    before = openHandles();
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((app) => app.close()));
    await eventually(() => {
      for (const [kind, count] of openHandles())
        assert(count <= (before.get(kind) ?? 0), `left open: ${count} ${kind}`);
    });
  });
}

/** Compiles and boots an application, on the harness if one is given; the test's end closes it. */
export async function boot(metadata: ModuleMetadata, harness?: DelayQueueHarness) {
  const builder = Test.createTestingModule(metadata);
  return bootBuilt(harness?.override(builder) ?? builder);
}

export async function bootBuilt(builder: TestingModuleBuilder) {
  const logs = new LogBook();
  const module = await builder.setLogger(logs).compile();
  opened.push(module);
  await module.init();
  return { module, logs };
}

/** Boots an application with {@link Jobs}. */
export async function start({
  options = {},
  imports = [],
  providers = [],
  ...harnessOptions
}: Setup = {}): Promise<KitBed> {
  const { module, logs } = await boot({
    imports: [DelayQueueTestingModule.forRoot(options, { now: START, ...harnessOptions }), ...imports],
    providers: [Jobs, ...providers],
  });
  const harness = module.get(DelayQueueHarness);
  const events = module.get(DelayQueueEvents);
  return {
    app: module,
    harness,
    producer: module.get(DelayQueueProducer),
    admin: module.get(DelayQueueAdmin),
    jobs: module.get(Jobs),
    logs,
    tape: <K extends keyof QueueEvents>(kind: K) => {
      const seen: QueueEvents[K][] = [];
      (events[kind] as Observable<QueueEvents[K]>).subscribe((event) => seen.push(event));
      return seen;
    },
    elapsed: () => harness.now.getTime() - START.getTime(),
  };
}

/** How long work takes in real time, in milliseconds. */
export async function realDuration(work: Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await work;
  return performance.now() - begin;
}

/** What keeps this process alive, by kind. */
type Handles = ReadonlyMap<string, number>;

function openHandles(): Handles {
  const resources = process.getActiveResourcesInfo();
  const count = (kind: string): number => resources.filter((resource) => resource === kind).length;
  return new Map(['TCPSocketWrap', 'Timeout', 'Immediate'].map((kind) => [kind, count(kind)]));
}
