import { cp, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type DynamicModule, Inject, Injectable, Module } from '@nestjs/common';
import { LazyModuleLoader } from '@nestjs/core';
import { TerminusModule } from '@nestjs/terminus';
import { Test } from '@nestjs/testing';
import type { DelayQueueEvents, DelayQueueProducer } from 'nestjs-delay-queue';
import type { DelayQueueHarness } from 'nestjs-delay-queue/testing';
import { build } from 'rolldown';
import { describe, expect, inject, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { VERSION } from '../support/internals.js';
import { type Library, forgetCopies, loadCopy, loadVersion } from '../support/kit/another-copy.js';
import { START, boot, bootBuilt, useKitBed } from '../support/kit/kit-bed.js';
import { bootWorker, throws, useTwoCopies, worker } from '../support/kit/two-copies.js';
import { eventually } from '../support/waiting.js';

const copies = useTwoCopies();

describe('what another copy decorates and injects', () => {
  useKitBed();

  it('is found and works, and is told of dead letters', async () => {
    const { work, harness } = await bootWorker(copies);
    await work.producer.publish('jobs', 21);
    await harness.settle();
    expect(work.calls.map(({ payload }) => payload)).toEqual([42]);
    work.respond = throws(new copies.there.UnrecoverableError('no use'));
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
    const { module } = await boot({ imports: [copies.here.DelayQueueTestingModule.forRoot(), DeepModule] });
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
});

describe('a copy that is loaded late', () => {
  useKitBed();

  it('is served if the application is created after it', async () => {
    const queue = copies.here.DelayQueueTestingModule.forRoot();
    const late = await loadCopy();
    const { module } = await boot({ imports: [queue], providers: [worker(late)] });
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
    const { module } = await boot({ imports: [FeatureModule] }, harness);
    expect(module.get(Worker).producer).toBeInstanceOf(copies.here.DelayQueueProducer);
  });

  it('is warned of as soon as it is loaded, which explains what Nest cannot inject', async () => {
    forgetCopies();
    const only = await loadCopy();
    const { module, logs } = await boot({ imports: [only.DelayQueueTestingModule.forRoot()] });
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
  useKitBed();

  it('replaces what the module has', async () => {
    const Worker = worker(copies.here);
    const harness = new copies.there.DelayQueueHarness({ now: START });
    const { module } = await boot(
      {
        imports: [copies.here.DelayQueueModule.forRoot({ redis: 'redis://127.0.0.1:1' })],
        providers: [Worker],
      },
      harness,
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

describe('faces of several copies', () => {
  useKitBed();

  it('the health indicator of another copy finds the health of the module', async () => {
    const { DelayQueueHealthIndicator } = await import('nestjs-delay-queue/terminus');
    const { module } = await boot({
      imports: [copies.here.DelayQueueTestingModule.forRoot(), TerminusModule],
      providers: [DelayQueueHealthIndicator],
    });
    expect(await module.get(DelayQueueHealthIndicator).isHealthy('queue')).toMatchObject({ queue: { status: 'up' } });
  });

  it('the warning of several copies comes once, with what each is and where it lies', async () => {
    const other = await loadVersion('9.8.7');
    const booted = [];
    for (const copy of [copies.here, copies.there, copies.here, other]) {
      booted.push(
        await boot({
          imports: [copy.DelayQueueTestingModule.forRoot(), copy.DelayQueueTestingModule.forRoot({ name: 'billing' })],
        }),
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
});

describe('modules of two copies in one application', () => {
  const bed = useBed();
  type Side = keyof typeof copies;

  const moduleOf = (side: Side, name?: string): DynamicModule =>
    copies[side].DelayQueueModule.forRoot(bed.options(name === undefined ? {} : { name }));

  it('serve one connection each, with handlers and injections of both copies', async () => {
    const Jobs = worker(copies.there);
    const Invoices = worker(copies.here, 'invoices', 'billing');
    const app = await bed.compileWith({
      imports: [moduleOf('here'), moduleOf('there', 'billing')],
      providers: [Jobs, Invoices],
    });
    await app.nest.init();

    for (const [Worker, topic] of [
      [Jobs, 'jobs'],
      [Invoices, 'invoices'],
    ] as const) {
      await app.get(Worker).producer.publish(topic, 1);
      await eventually(() => expect(app.get(Worker).calls).toHaveLength(1));
    }
  });

  it.each<[place: string, sides: Side[]]>([
    ['first', ['here', 'there']],
    ['last', ['there', 'here']],
  ])('of one connection, its own %s, act as one: the first consumes, and all inject it', async (_, sides) => {
    const { here, there } = copies;
    const Jobs = worker(there);
    @Injectable()
    class Watching {
      readonly acked: string[] = [];

      constructor(
        @Inject(here.DelayQueueEvents) readonly events: DelayQueueEvents,
        @Inject(here.DelayQueueProducer) readonly producer: DelayQueueProducer,
        @Inject(there.DelayQueueEvents) readonly theirEvents: DelayQueueEvents,
        @Inject(there.DelayQueueProducer) readonly theirProducer: DelayQueueProducer,
      ) {
        events.acked.subscribe(({ id }) => this.acked.push(id));
      }
    }
    const app = await bed.compileWith({ imports: sides.map((side) => moduleOf(side)), providers: [Jobs, Watching] });
    await app.nest.init();
    expect(app.logs.warnings).toContainEqual(expect.stringContaining('imported more than once'));

    const { events, theirEvents, producer, theirProducer, acked } = app.get(Watching);
    expect(theirEvents).toBe(events);
    expect(theirProducer).toBe(producer);
    await producer.publish('jobs', 1, { id: 'one' });
    await eventually(() => expect(acked).toEqual(['one']));
    expect(app.get(Jobs).calls).toHaveLength(1);
  });

  it.each([undefined, 'billing'])('leave nothing open if connection %s fails the boot', async (connection) => {
    const error = await bed.failingBoot(async () =>
      bed.compileWith({
        imports: [moduleOf('here'), moduleOf('there', 'billing')],
        providers: [worker(copies.here, 'jobs', connection), worker(copies.there, 'jobs', connection)],
      }),
    );
    expect(error.message).toContain("Topic 'jobs' has two handlers in this process");
    await bed.expectNothingOpen();
  });
});

/** A folder that finds the dependencies of these tests. */
async function newFolder(name: string): Promise<string> {
  forgetCopies();
  const folder = await mkdtemp(join(inject('runFolder'), name));
  await symlink(resolve('node_modules'), join(folder, 'node_modules'));
  return folder;
}

/** Installs the build in a folder and loads it, as users do. */
async function install(folder: string): Promise<Library> {
  const modules = join(folder, 'node_modules');
  const installed = join(modules, 'nestjs-delay-queue');
  await cp('dist', join(installed, 'dist'), { recursive: true });
  await cp('package.json', join(installed, 'package.json'));
  // vitest would load a file elsewhere, and would resolve the name differently.
  const entry = join(modules, 'entry.mjs');
  await writeFile(entry, `export * from 'nestjs-delay-queue';`);
  return load(entry);
}

async function load(file: string): Promise<Library> {
  return (await import(/* @vite-ignore */ pathToFileURL(file).href)) as Library;
}

async function start(app: Library, ...workers: ReturnType<typeof worker>[]) {
  const imports = [app.DelayQueueModule.forRoot({ redis: 'embedded:' })];
  const { module, logs } = await boot({ imports, providers: workers });
  return { module, logs, work: workers.map((Worker) => module.get(Worker)) };
}

describe('built copies', () => {
  useKitBed();

  it('work together, in several folders, and one warning says where they are', async () => {
    const folder = await newFolder('copies ');
    const [app, plugin] = [await install(join(folder, 'app')), await install(join(folder, 'plugin'))];
    const warnings: string[] = [];
    for (let i = 1; i <= 2; i++) {
      const { module, work, logs } = await start(app, worker(app), worker(plugin, 'invoices'));
      for (const [place, topic] of ['jobs', 'invoices'].entries()) await work[place]?.producer.publish(topic, i);
      await eventually(() => expect(work.map(({ calls }) => calls.length)).toEqual([1, 1]));
      warnings.push(...logs.warnings.filter((line) => line.includes('copies')));
      await module.close();
    }
    const place = (name: string): string => `${folder}/${name}/node_modules/nestjs-delay-queue`;
    expect(warnings).toEqual([
      expect.stringContaining(
        `2 copies of nestjs-delay-queue are loaded in this process: ` +
          `${VERSION} in ${place('app')}; ${VERSION} in ${place('plugin')}. `,
      ),
    ]);
  });

  it('work together if one of them was bundled', async () => {
    const folder = await newFolder('bundled ');
    const app = await install(join(folder, 'app'));
    const input = join(folder, 'app/node_modules/plugin.mjs');
    const names = 'DelayedHandler, DelayQueueProducer, Message, OnDeadLetter, Payload, UnrecoverableError';
    await writeFile(input, `export { ${names} } from 'nestjs-delay-queue';`);
    const file = join(folder, 'plugin/node_modules/plugin.mjs');
    const external = /^(?!.*nestjs-delay-queue)[^./]/;
    await build({ input, platform: 'node', external, output: { file, codeSplitting: false, minify: true } });
    const plugin = await load(file);

    const { work, logs } = await start(app, worker(plugin));
    const [jobs] = work;
    if (jobs) jobs.respond = throws(new plugin.UnrecoverableError('no use'));
    await jobs?.producer.publish('jobs', 1);
    await eventually(() => expect(logs.errors.join()).toContain('is dead (unrecoverable)'));
    expect(jobs?.calls).toHaveLength(1);
    expect(logs.warnings).toContainEqual(expect.stringContaining(`${VERSION} in ${folder}/plugin/node_modules.`));
  });
});
