import { cp, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type DynamicModule, Inject, Injectable, type Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import * as here from 'nestjs-delay-queue';
import {
  DelayQueueEvents,
  type DelayedMessage,
  type DelayQueueModuleOptions,
  DelayQueueProducer,
} from 'nestjs-delay-queue';
import { build } from 'rolldown';
import { afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { VERSION } from '../support/internals.js';
import { type Copy, forgetCopies, loadCopy } from '../support/kit/another-copy.js';
import { useBed } from '../support/app/bed.js';
import { LogBook } from '../support/app/log-book.js';
import { eventually } from '../support/waiting.js';

type Library = typeof here;

const bed = useBed();
let there: Copy;

beforeAll(async () => {
  there = await loadCopy();
});

function moduleOf(copy: Library, options: DelayQueueModuleOptions = {}): DynamicModule {
  return copy.DelayQueueModule.forRoot(bed.options(options));
}

interface Worker {
  readonly calls: DelayedMessage[];
  respond: () => unknown;
}

/** Installs the build in a folder below these tests' dependencies and loads it, as users do. */
async function install(folder: string): Promise<Library> {
  const modules = join(folder, 'node_modules');
  const installed = join(modules, 'nestjs-delay-queue');
  await cp('dist', join(installed, 'dist'), { recursive: true });
  await cp('package.json', join(installed, 'package.json'));
  // vitest would load a file elsewhere, and would resolve the name differently.
  const entry = join(modules, 'entry.mjs');
  await writeFile(entry, `export * from 'nestjs-delay-queue';`);
  return (await import(/* @vite-ignore */ pathToFileURL(entry).href)) as Library;
}

/** A provider that handles a topic on a connection with the decorator of a copy. */
function worker(copy: Library, topic: string, connection?: string): Type<Worker> {
  @Injectable()
  class Handling implements Worker {
    readonly calls: DelayedMessage[] = [];
    respond: () => unknown = () => undefined;

    @copy.DelayedHandler(topic, {
      attempts: 3,
      backoff: { type: 'fixed', delay: 1 },
      ...(connection && { connection }),
    })
    handle(_payload: unknown, message: DelayedMessage): unknown {
      this.calls.push(message);
      return this.respond();
    }
  }
  return Handling;
}

/** Starts an application whose handler was made with the other copy, and publishes a message. */
async function start(error: Error) {
  const Jobs = worker(there, 'jobs');
  const app = await bed.start({ providers: [Jobs] });
  const jobs = app.get(Jobs);
  jobs.respond = () => {
    // Succeeds at the third call, if there is one.
    if (jobs.calls.length < 3) throw error;
  };
  await app.producer.publish('jobs', 1, { id: 'one' });
  return { app, jobs };
}

describe('a handler of another copy', () => {
  it('is called once if it throws an UnrecoverableError, and the message is a dead letter', async () => {
    const { app, jobs } = await start(new there.UnrecoverableError('no use'));
    const { failure } = await app.events.dead.first();
    expect(failure).toMatchObject({ reason: 'unrecoverable', message: 'no use' });
    expect(jobs.calls).toHaveLength(1);
  });

  it('spends no attempt if it throws a RetryLaterError', async () => {
    const { app, jobs } = await start(new there.RetryLaterError(1));
    await app.events.acked.first();
    expect(jobs.calls.map(({ attempt }) => attempt)).toEqual([1, 1, 1]);
  });
});

describe('modules of two copies in one application', () => {
  it('serve one connection each, with handlers and injections of both copies', async () => {
    const Jobs = worker(there, 'jobs');
    const Invoices = worker(here, 'invoices', 'billing');
    @Injectable()
    class Publishing {
      constructor(
        @Inject(there.DelayQueueProducer) readonly main: DelayQueueProducer,
        @here.InjectDelayQueueProducer('billing') readonly billing: DelayQueueProducer,
      ) {}
    }
    const app = await bed.compileWith({
      imports: [moduleOf(here), moduleOf(there, { name: 'billing' })],
      providers: [Jobs, Invoices, Publishing],
    });
    await app.nest.init();

    const { main, billing } = app.get(Publishing);
    await Promise.all([main.publish('jobs', 1), billing.publish('invoices', 2)]);
    await eventually(() => {
      expect(app.get(Jobs).calls).toHaveLength(1);
      expect(app.get(Invoices).calls).toHaveLength(1);
    });
  });

  it.each([
    ['first', (): DynamicModule[] => [moduleOf(here), moduleOf(there)]],
    ['last', (): DynamicModule[] => [moduleOf(there), moduleOf(here)]],
  ])('of one connection, its own %s, act as one: the first consumes, and all inject it', async (_, imports) => {
    const Jobs = worker(there, 'jobs');
    @Injectable()
    class Watching {
      readonly acked: string[] = [];

      constructor(
        readonly events: DelayQueueEvents,
        readonly producer: DelayQueueProducer,
        @Inject(there.DelayQueueEvents) readonly theirEvents: DelayQueueEvents,
        @Inject(there.DelayQueueProducer) readonly theirProducer: DelayQueueProducer,
      ) {
        events.acked.subscribe(({ id }) => this.acked.push(id));
      }
    }
    const app = await bed.compileWith({ imports: imports(), providers: [Jobs, Watching] });
    await app.nest.init();
    expect(app.logs.warnings).toContainEqual(expect.stringContaining('imported more than once'));

    const { events, theirEvents, producer, theirProducer, acked } = app.get(Watching);
    expect(theirEvents).toBe(events);
    expect(theirProducer).toBe(producer);
    await producer.publish('jobs', 1, { id: 'one' });
    await eventually(() => expect(acked).toEqual(['one']));
    expect(app.get(Jobs).calls).toHaveLength(1);
  });

  it.each(['default', 'billing'])('leave nothing open if connection %s fails the boot', async (connection) => {
    const error = await bed.failingBoot(async () =>
      bed.compileWith({
        imports: [moduleOf(here), moduleOf(there, { name: 'billing' })],
        providers: [worker(here, 'jobs', connection), worker(there, 'jobs', connection)],
      }),
    );
    expect(error.message).toContain("Topic 'jobs' has two handlers in this process");
    await bed.expectNothingOpen();
  });
});

describe('built copies', () => {
  beforeEach(forgetCopies);
  afterEach(forgetCopies);

  it('work together, in several folders, and one warning says where they are', async () => {
    const folder = await mkdtemp(join(inject('runFolder'), 'copies '));
    await symlink(resolve('node_modules'), join(folder, 'node_modules'));
    const [app, plugin] = [await install(join(folder, 'app')), await install(join(folder, 'plugin'))];
    const Jobs = worker(app, 'jobs');
    const Invoices = worker(plugin, 'invoices');
    const logs = new LogBook();
    for (let i = 1; i <= 2; i++) {
      const imports = [moduleOf(app)];
      const module = await Test.createTestingModule({ imports, providers: [Jobs, Invoices] })
        .setLogger(logs)
        .compile();
      await module.init();
      await module.get(app.DelayQueueProducer).publish('jobs', i);
      await module.get(plugin.DelayQueueProducer).publish('invoices', i);
      await eventually(() => {
        expect(module.get(Jobs).calls).toHaveLength(1);
        expect(module.get(Invoices).calls).toHaveLength(1);
      });
      await module.close();
    }
    const [warning, ...others] = logs.warnings.filter((line) => line.includes('copies'));
    expect(others).toEqual([]);
    const place = (name: string): string => `${folder}/${name}/node_modules/nestjs-delay-queue`;
    expect(warning).toContain(
      `2 copies of nestjs-delay-queue are loaded in this process: ` +
        `${VERSION} in ${place('app')}; ${VERSION} in ${place('plugin')}. `,
    );
  });

  it('work together if one of them was bundled', async () => {
    const folder = await mkdtemp(join(inject('runFolder'), 'bundled '));
    await symlink(resolve('node_modules'), join(folder, 'node_modules'));
    const app = await install(join(folder, 'app'));
    const input = join(folder, 'app/node_modules/plugin.mjs');
    await writeFile(
      input,
      `export { DelayedHandler, DelayQueueProducer, UnrecoverableError } from 'nestjs-delay-queue';`,
    );
    const file = join(folder, 'plugin/node_modules/plugin.mjs');
    const external = /^(?!.*nestjs-delay-queue)[^./]/;
    await build({
      input,
      platform: 'node',
      external,
      output: { file, codeSplitting: false, minify: true },
    });
    const plugin = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as Library;

    const Jobs = worker(plugin, 'jobs');
    const logs = new LogBook();
    const module = await Test.createTestingModule({ imports: [moduleOf(app)], providers: [Jobs] })
      .setLogger(logs)
      .compile();
    await module.init();
    const jobs = module.get(Jobs);
    jobs.respond = () => {
      throw new plugin.UnrecoverableError('no use');
    };
    await module.get(plugin.DelayQueueProducer).publish('jobs', 1);
    await eventually(() => expect(logs.errors.join()).toContain('is dead (unrecoverable)'));
    expect(jobs.calls).toHaveLength(1);
    await module.close();
    expect(logs.warnings).toContainEqual(expect.stringContaining(`${VERSION} in ${folder}/plugin/node_modules.`));
  });
});
