import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  Inject,
  Injectable,
  Module,
  type PipeTransform,
  type Type,
  UseFilters,
  UseInterceptors,
} from '@nestjs/common';
import { LazyModuleLoader } from '@nestjs/core';
import { TerminusModule } from '@nestjs/terminus';
import { Test } from '@nestjs/testing';
import type { DeadLetter, DelayedMessage, DelayQueueProducer } from 'nestjs-delay-queue';
import type { DelayQueueHarness } from 'nestjs-delay-queue/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VERSION } from '../../lib/version.js';
import { type Copy, forgetCopies, loadCopy, loadVersion } from '../support/another-copy.js';
import { MINUTE, START, bootBuilt, useBench } from './support/bench.js';

/** A copy whose module the application imports, and one that some of its code uses. */
let here: Copy;
let there: Copy;

useBench();

beforeEach(async () => {
  forgetCopies();
  here = await loadCopy();
  there = await loadCopy();
});

afterEach(forgetCopies);

interface Work {
  readonly calls: DelayedMessage[];
  readonly letters: DeadLetter[];
  readonly producer: DelayQueueProducer;
  respond: (message: DelayedMessage) => unknown;
}

const doubling: PipeTransform<number, number> = { transform: (value) => value * 2 };

/** Handles topic `jobs`, and is made with what another copy exports. */
function worker(copy: Copy): Type<Work> {
  @Injectable()
  class Worker implements Work {
    readonly calls: DelayedMessage[] = [];
    readonly letters: DeadLetter[] = [];
    respond: (message: DelayedMessage) => unknown = () => undefined;

    constructor(@Inject(copy.DelayQueueProducer) readonly producer: DelayQueueProducer) {}

    @copy.DelayedHandler('jobs', { attempts: 3, backoff: { type: 'fixed', delay: '1m' } })
    handle(@copy.Payload(doubling) payload: number, @copy.Message() message: DelayedMessage): unknown {
      this.calls.push({ ...message, payload });
      return this.respond(message);
    }

    @copy.OnDeadLetter('jobs')
    bury(letter: DeadLetter): void {
      this.letters.push(letter);
    }
  }
  return Worker;
}

/** An application on the module of one copy, with a worker made with another. */
async function bootWorker(respond?: Work['respond']) {
  const Worker = worker(there);
  const { module, logs } = await bootBuilt(
    Test.createTestingModule({
      imports: [here.DelayQueueTestingModule.forRoot({}, { now: START })],
      providers: [Worker],
    }),
  );
  const work = module.get(Worker);
  if (respond) work.respond = respond;
  return { work, harness: module.get(here.DelayQueueHarness), module, logs };
}

function throws(error: Error): () => never {
  return () => {
    throw error;
  };
}

describe('what another copy decorates and injects', () => {
  it('is found and works', async () => {
    const { work, harness } = await bootWorker();
    await work.producer.publish('jobs', 21);
    await harness.settle();
    expect(work.calls.map(({ payload }) => payload)).toEqual([42]);
  });

  it('is told of dead letters', async () => {
    const { work, harness } = await bootWorker(throws(new there.UnrecoverableError('no use')));
    await work.producer.publish('jobs', 1, { id: 'one' });
    await harness.settle();
    expect(work.letters).toMatchObject([{ id: 'one', failure: { reason: 'unrecoverable' } }]);
  });

  it('is what the testing module exports, too', async () => {
    @Injectable()
    class Deep {
      constructor(@Inject(there.DelayQueueHarness) readonly harness: DelayQueueHarness) {}
    }
    @Module({ providers: [Deep], exports: [Deep] })
    class DeepModule {}
    const { module } = await bootBuilt(
      Test.createTestingModule({ imports: [here.DelayQueueTestingModule.forRoot(), DeepModule] }),
    );
    expect(module.get(Deep).harness).toBe(module.get(here.DelayQueueHarness));
  });

  it('is the same instance for every copy, of each class that a module exports', async () => {
    const { module } = await bootWorker();
    expect(module.get(there.DelayQueueProducer)).toBe(module.get(here.DelayQueueProducer));
    expect(module.get(there.DelayQueueAdmin)).toBe(module.get(here.DelayQueueAdmin));
    expect(module.get(there.DelayQueueEvents)).toBe(module.get(here.DelayQueueEvents));
    expect(module.get(there.DelayQueueHealth)).toBe(module.get(here.DelayQueueHealth));
    expect(module.get(there.DELAY_QUEUE_REDIS)).toBe(module.get(here.DELAY_QUEUE_REDIS));
    expect(module.get(there.DelayQueueHarness)).toBe(module.get(here.DelayQueueHarness));
  });

  it('is what a test has put in the place of the class of the module', async () => {
    const fake = { publish: () => 'fake' };
    const { module } = await bootBuilt(
      Test.createTestingModule({
        imports: [here.DelayQueueTestingModule.forRoot()],
        providers: [worker(there)],
      })
        .overrideProvider(here.DelayQueueProducer)
        .useValue(fake),
    );
    expect(module.get(there.DelayQueueProducer)).toBe(fake);
  });

  it('is the producer of a named connection', async () => {
    @Injectable()
    class Billing {
      constructor(@there.InjectDelayQueueProducer('billing') readonly producer: DelayQueueProducer) {}
    }
    const { module } = await bootBuilt(
      Test.createTestingModule({
        imports: [here.DelayQueueTestingModule.forRoot({ name: 'billing' })],
        providers: [Billing],
      }),
    );
    expect(module.get(Billing).producer).toBeInstanceOf(here.DelayQueueProducer);
    expect(() => module.get(there.DelayQueueProducer)).toThrow('could not find DelayQueueProducer');
  });
});

describe('errors of another copy', () => {
  it('UnrecoverableError makes a dead letter of the message after one call', async () => {
    const { work, harness } = await bootWorker(throws(new there.UnrecoverableError('no use')));
    await work.producer.publish('jobs', 1);
    await harness.advance('1h');
    expect(work.calls).toHaveLength(1);
    const [letter] = harness.deadLetters('jobs');
    expect(letter?.failure).toMatchObject({ reason: 'unrecoverable', code: 'UNRECOVERABLE', message: 'no use' });
  });

  it('a class that a user derives from UnrecoverableError does so too', async () => {
    class CardDeclined extends there.UnrecoverableError {}
    const { work, harness } = await bootWorker(throws(new CardDeclined('no money')));
    await work.producer.publish('jobs', 1);
    await harness.advance('1h');
    expect(work.calls).toHaveLength(1);
    expect(harness.deadLetters('jobs')[0]?.failure).toMatchObject({ reason: 'unrecoverable', name: 'CardDeclined' });
  });

  it('RetryLaterError spends no attempt, however often it comes', async () => {
    const { work, harness } = await bootWorker(throws(new there.RetryLaterError('5s')));
    await work.producer.publish('jobs', 1);
    await harness.advance('20s');
    expect(work.calls.map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1, 1]);
    expect(harness.deadLetters('jobs')).toEqual([]);
  });

  it.each([undefined, Number.NaN, Infinity, -1, 'soon', {}])(
    'RetryLaterError of another version, whose delay is %s, spends no attempt and waits as its handler backs off',
    async (delay) => {
      const { work, harness } = await bootWorker(throws(Object.assign(new there.RetryLaterError(1), { delay })));
      await work.producer.publish('jobs', 1);
      await harness.advance(4 * MINUTE);
      expect(work.calls.map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1, 1]);
    },
  );

  it('are told apart in the outcomes of a batch', async () => {
    @Injectable()
    class Batches {
      @there.DelayedHandler('jobs', { batch: 3, attempts: 2, backoff: { type: 'fixed', delay: '1h' } })
      handle(payloads: unknown[]): unknown {
        const errors = [new there.UnrecoverableError('no use'), new there.RetryLaterError('2h'), new Error('plain')];
        return Promise.allSettled(payloads.map(async (_, i) => Promise.reject(errors[i] as Error)));
      }
    }
    const { module } = await bootBuilt(
      Test.createTestingModule({
        imports: [here.DelayQueueTestingModule.forRoot({}, { now: START })],
        providers: [Batches],
      }),
    );
    const harness = module.get(here.DelayQueueHarness);
    const messages = ['a', 'b', 'c'].map((id) => ({ payload: id, options: { id, key: 'same' } }));
    await module.get(here.DelayQueueProducer).publishMany('jobs', messages);
    await harness.settle();
    expect(harness.deadLetters('jobs').map(({ id }) => id)).toEqual(['a']);
    const waiting = harness.scheduled('jobs').map(({ id, dueAt }) => [id, dueAt.getTime() - START.getTime()]);
    expect(waiting).toEqual([
      ['c', 60 * MINUTE],
      ['b', 120 * MINUTE],
    ]);
  });

  it('are what filters catch and interceptors see, with the context of another copy', async () => {
    const seen: unknown[] = [];
    @Catch(here.UnrecoverableError)
    class Filter implements ExceptionFilter {
      catch(error: Error, host: ArgumentsHost): undefined {
        seen.push(error.message, there.DelayQueueContext.from(host).message.id);
      }
    }
    @Injectable()
    class Jobs {
      @there.DelayedHandler('jobs')
      @UseFilters(new Filter())
      @UseInterceptors({
        intercept: (context, next) => {
          seen.push(there.DelayQueueContext.from(context).payload);
          return next.handle();
        },
      })
      handle(): void {
        throw new there.UnrecoverableError('no use');
      }
    }
    const { module } = await bootBuilt(
      Test.createTestingModule({ imports: [here.DelayQueueTestingModule.forRoot()], providers: [Jobs] }),
    );
    await module.get(here.DelayQueueProducer).publish('jobs', 7, { id: 'one' });
    await module.get(here.DelayQueueHarness).settle();
    expect(seen).toEqual([7, 'no use', 'one']);
  });

  it('are recognised by the code of who publishes', async () => {
    const { work } = await bootWorker();
    const orders = there.topic('orders', {
      schema: {
        '~standard': { version: 1, vendor: 'test', validate: () => ({ issues: [{ message: 'no order' }] }) },
      },
    });
    const refused: unknown = await work.producer.publish(orders, 1).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(there.InvalidPayloadError);
    expect(refused).toMatchObject({ issues: [{ message: 'no order' }] });

    await work.producer.publish('jobs', 1, { id: 'one', delay: '1h' });
    const duplicate: unknown = await work.producer.publish('jobs', 1, { id: 'one' }).catch((error: unknown) => error);
    expect(duplicate).toBeInstanceOf(there.DuplicateMessageError);
  });

  it.each([
    { issues: [{ message: 'no order' }], kept: [{ message: 'no order' }] },
    { issues: undefined, kept: undefined },
  ])(
    'InvalidPayloadError that a schema throws makes the message invalid, with issues $issues',
    async ({ issues, kept }) => {
      const error = Object.assign(new there.InvalidPayloadError('orders', []), { issues });
      const orders = there.topic('orders', {
        schema: { '~standard': { version: 1, vendor: 'test', validate: throws(error) } },
      });
      @Injectable()
      class Orders {
        @there.DelayedHandler(orders)
        handle(): void {}
      }
      const { module } = await bootBuilt(
        Test.createTestingModule({ imports: [here.DelayQueueTestingModule.forRoot()], providers: [Orders] }),
      );
      const harness = module.get(here.DelayQueueHarness);
      await module.get(here.DelayQueueProducer).publish('orders', 1);
      await harness.settle();
      const [letter] = harness.deadLetters('orders');
      expect(letter?.failure.reason).toBe('invalid');
      expect(letter?.failure.issues).toEqual(kept);
    },
  );
});

describe('a copy that is loaded late', () => {
  it('is served if the application is created after it', async () => {
    const queue = here.DelayQueueTestingModule.forRoot();
    const late = await loadCopy();
    const { module } = await bootBuilt(Test.createTestingModule({ imports: [queue], providers: [worker(late)] }));
    expect(module.get(late.DelayQueueProducer)).toBe(module.get(here.DelayQueueProducer));
    expect(module.get(late.DelayQueueHarness)).toBe(module.get(here.DelayQueueHarness));
  });

  it('is served by DelayQueueModule too, to those who import it', async () => {
    const queue = here.DelayQueueModule.forRootAsync({ isGlobal: false, useFactory: () => ({}) });
    const late = await loadCopy();
    const Worker = worker(late);
    @Module({ imports: [queue], providers: [Worker], exports: [Worker] })
    class FeatureModule {}
    const harness = new here.DelayQueueHarness();
    const { module } = await bootBuilt(harness.override(Test.createTestingModule({ imports: [FeatureModule] })));
    expect(module.get(Worker).producer).toBeInstanceOf(here.DelayQueueProducer);
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
    const Worker = worker(here);
    const harness = new there.DelayQueueHarness({ now: START });
    const { module } = await bootBuilt(
      harness.override(
        Test.createTestingModule({
          imports: [here.DelayQueueModule.forRoot({ redis: 'redis://127.0.0.1:1' })],
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
    const builder = Test.createTestingModule({ imports: [here.DelayQueueModule.forRoot()] });
    const compiling = new other.DelayQueueHarness().override(builder).compile();
    await expect(compiling).rejects.toThrow(
      `The testing kit is that of nestjs-delay-queue 9.8.7, and the application imports DelayQueueModule of ${VERSION}`,
    );
    await expect(compiling).rejects.toBeInstanceOf(here.ConfigurationError);
  });
});

it('the health indicator of another copy finds the health of the module', async () => {
  const { DelayQueueHealthIndicator } = await import('nestjs-delay-queue/terminus');
  const { module } = await bootBuilt(
    Test.createTestingModule({
      imports: [here.DelayQueueTestingModule.forRoot(), TerminusModule],
      providers: [DelayQueueHealthIndicator],
    }),
  );
  expect(await module.get(DelayQueueHealthIndicator).isHealthy('queue')).toMatchObject({ queue: { status: 'up' } });
});

describe('the warning', () => {
  it('comes once, with what each copy is and where it lies', async () => {
    const other = await loadVersion('9.8.7');
    const booted = [];
    for (const copy of [here, there, here, other]) {
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
    const folder = String.raw`(?: \(ES module\))? in \S+/lib/common`;
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
