import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  Injectable,
  UseFilters,
  UseInterceptors,
} from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import { MINUTE, START, boot, useKitBed } from '../../support/kit/kit-bed.js';
import { bootWorker, throws, useTwoCopies } from '../../support/kit/two-copies.js';

useKitBed();
const copies = useTwoCopies();

describe('errors of another copy', () => {
  it.each(['UnrecoverableError', 'CardDeclined'])(
    '%s makes a dead letter of the message after one call',
    async (name) => {
      /** As a user derives it. */
      class CardDeclined extends copies.there.UnrecoverableError {}
      const error =
        name === 'CardDeclined' ? new CardDeclined('no use') : new copies.there.UnrecoverableError('no use');
      const { work, harness } = await bootWorker(copies, throws(error));
      await work.producer.publish('jobs', 1);
      await harness.advance('1h');
      expect(work.calls).toHaveLength(1);
      const [letter] = harness.deadLetters('jobs');
      expect(letter?.failure).toMatchObject({
        reason: 'unrecoverable',
        name,
        code: 'UNRECOVERABLE',
        message: 'no use',
      });
    },
  );

  it('RetryLaterError spends no attempt, however often it comes', async () => {
    const { work, harness } = await bootWorker(copies, throws(new copies.there.RetryLaterError('5s')));
    await work.producer.publish('jobs', 1);
    await harness.advance('20s');
    expect(work.calls.map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1, 1]);
    expect(harness.deadLetters('jobs')).toEqual([]);
  });

  it.each([undefined, Number.NaN, Infinity, -1, 'soon', {}])(
    'RetryLaterError of another version, whose delay is %s, spends no attempt and waits as its handler backs off',
    async (delay) => {
      const { work, harness } = await bootWorker(
        copies,
        throws(Object.assign(new copies.there.RetryLaterError(1), { delay })),
      );
      await work.producer.publish('jobs', 1);
      await harness.advance(4 * MINUTE);
      expect(work.calls.map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1, 1]);
    },
  );

  it('are told apart in the outcomes of a batch', async () => {
    @Injectable()
    class Batches {
      @copies.there.DelayedHandler('jobs', { batch: 3, attempts: 2, backoff: { type: 'fixed', delay: '1h' } })
      handle(payloads: unknown[]): unknown {
        const errors = [
          new copies.there.UnrecoverableError('no use'),
          new copies.there.RetryLaterError('2h'),
          new Error('plain'),
        ];
        return Promise.allSettled(payloads.map(async (_, i) => Promise.reject(errors[i] as Error)));
      }
    }
    const { module } = await boot({
      imports: [copies.here.DelayQueueTestingModule.forRoot({}, { now: START })],
      providers: [Batches],
    });
    const harness = module.get(copies.here.DelayQueueHarness);
    const messages = ['a', 'b', 'c'].map((id) => ({ payload: id, options: { id, key: 'same' } }));
    await module.get(copies.here.DelayQueueProducer).publishMany('jobs', messages);
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
    @Catch(copies.here.UnrecoverableError)
    class Filter implements ExceptionFilter {
      catch(error: Error, host: ArgumentsHost): undefined {
        seen.push(error.message, copies.there.DelayQueueContext.from(host).message.id);
      }
    }
    @Injectable()
    class Jobs {
      @copies.there.DelayedHandler('jobs')
      @UseFilters(new Filter())
      @UseInterceptors({
        intercept: (context, next) => {
          seen.push(copies.there.DelayQueueContext.from(context).payload);
          return next.handle();
        },
      })
      handle(): void {
        throw new copies.there.UnrecoverableError('no use');
      }
    }
    const { module } = await boot({ imports: [copies.here.DelayQueueTestingModule.forRoot()], providers: [Jobs] });
    await module.get(copies.here.DelayQueueProducer).publish('jobs', 7, { id: 'one' });
    await module.get(copies.here.DelayQueueHarness).settle();
    expect(seen).toEqual([7, 'no use', 'one']);
  });

  it('are recognised by the code of who publishes', async () => {
    const { work } = await bootWorker(copies);
    const orders = copies.there.topic('orders', {
      schema: {
        '~standard': { version: 1, vendor: 'test', validate: () => ({ issues: [{ message: 'no order' }] }) },
      },
    });
    const refused: unknown = await work.producer.publish(orders, 1).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(copies.there.InvalidPayloadError);
    expect(refused).toMatchObject({ issues: [{ message: 'no order' }] });

    await work.producer.publish('jobs', 1, { id: 'one', delay: '1h' });
    const duplicate: unknown = await work.producer.publish('jobs', 1, { id: 'one' }).catch((error: unknown) => error);
    expect(duplicate).toBeInstanceOf(copies.there.DuplicateMessageError);
  });

  it.each([
    { issues: [{ message: 'no order' }], kept: [{ message: 'no order' }] },
    { issues: undefined, kept: undefined },
  ])(
    'InvalidPayloadError that a schema throws makes the message invalid, with issues $issues',
    async ({ issues, kept }) => {
      const error = Object.assign(new copies.there.InvalidPayloadError('orders', []), { issues });
      const orders = copies.there.topic('orders', {
        schema: { '~standard': { version: 1, vendor: 'test', validate: throws(error) } },
      });
      @Injectable()
      class Orders {
        @copies.there.DelayedHandler(orders)
        handle(): void {}
      }
      const { module } = await boot({ imports: [copies.here.DelayQueueTestingModule.forRoot()], providers: [Orders] });
      const harness = module.get(copies.here.DelayQueueHarness);
      await module.get(copies.here.DelayQueueProducer).publish('orders', 1);
      await harness.settle();
      const [letter] = harness.deadLetters('orders');
      expect(letter?.failure.reason).toBe('invalid');
      expect(letter?.failure.issues).toEqual(kept);
    },
  );
});
