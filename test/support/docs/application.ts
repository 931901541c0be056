import type { DynamicModule, INestApplicationContext, ModuleMetadata } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import type { Cluster, Redis } from 'ioredis';
import {
  DELAY_QUEUE_REDIS,
  DelayQueueAdmin,
  DelayQueueEvents,
  DelayQueueModule,
  DelayQueueProducer,
} from 'nestjs-delay-queue';
import { DelayQueueHarness } from 'nestjs-delay-queue/testing';
import { type MockInstance, onTestFinished, vi } from 'vitest';
import { START, boot } from '../kit/kit-bed.js';

/** A booted application, by the names that the documents have for its parts. */
export interface Application {
  readonly app: INestApplicationContext;
  readonly harness: DelayQueueHarness;
  readonly producer: DelayQueueProducer;
  readonly admin: DelayQueueAdmin;
  readonly events: DelayQueueEvents;
}

/** Boots an application without Redis; several on one harness are a fleet. */
export async function bootApplication(
  { imports = [DelayQueueModule.forRoot()], ...metadata }: ModuleMetadata = {},
  harness: DelayQueueHarness = new DelayQueueHarness({ now: START }),
): Promise<Application> {
  const { module } = await boot({ ...metadata, imports }, harness);
  return partsOf(module, harness);
}

/** Boots an application without handlers, for blocks that publish before their own handlers can be there. */
export async function bootPublisher(): Promise<Application> {
  return bootApplication({ imports: [DelayQueueModule.forRoot({ consumer: false })] });
}

/** Boots an application that serves HTTP too, and resolves with its URL beside its parts. */
export async function serveApplication(metadata: ModuleMetadata): Promise<Application & { url: string }> {
  const harness = new DelayQueueHarness({ now: START });
  const imports = [DelayQueueModule.forRoot(), ...(metadata.imports ?? [])];
  const builder = Test.createTestingModule({ ...metadata, imports });
  const app = (await harness.override(builder).compile()).createNestApplication({ logger: false });
  onTestFinished(() => app.close());
  await app.listen(0, '127.0.0.1');
  return { ...partsOf(app, harness), url: await app.getUrl() };
}

/** A request that leaves no connection open. */
export async function request(url: string): Promise<Response> {
  return fetch(url, { headers: { connection: 'close' } });
}

/** The modules that are made while something runs: those of `forRoot()`, then those of `forRootAsync()`. */
export async function modulesMade(
  run: () => Promise<unknown>,
  maker: Pick<typeof DelayQueueModule, 'forRoot' | 'forRootAsync'> = DelayQueueModule,
): Promise<DynamicModule[]> {
  const spies = [vi.spyOn(maker, 'forRoot'), vi.spyOn(maker, 'forRootAsync')] as MockInstance<() => DynamicModule>[];
  await run();
  const made = spies.flatMap(({ mock: { results } }) => results.map(({ value }) => value as DynamicModule));
  for (const spy of spies) spy.mockRestore();
  return made;
}

/** The client that a module would send its commands through; it is not connected. */
export async function clientOf(imports: ModuleMetadata['imports']): Promise<Redis | Cluster> {
  const module = await Test.createTestingModule({ imports: imports ?? [] }).compile();
  onTestFinished(() => module.close());
  return module.get<Redis | Cluster>(DELAY_QUEUE_REDIS);
}

function partsOf(app: INestApplicationContext, harness: DelayQueueHarness): Application {
  return {
    app,
    harness,
    producer: app.get(DelayQueueProducer),
    admin: app.get(DelayQueueAdmin),
    events: app.get(DelayQueueEvents),
  };
}
