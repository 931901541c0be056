import { AsyncLocalStorage } from 'node:async_hooks';
import { Subject, lastValueFrom } from 'rxjs';
import { describe, expect, it } from 'vitest';
import type { MessageHandler } from '../../../lib/consumer/message-handler.interface.js';
import { handleWithin, resolveMiddleware } from '../../../lib/middleware/middleware-layers.js';
import type { DelayedMessage } from '../../../lib/messages/delayed-message.interface.js';
import { turns } from '../../support/units/test-claimant.js';
import type { DelayQueueMiddleware } from '../../../lib/middleware/middleware.interface.js';

const message = { id: 'a', headers: { 'correlation-id': 'x' } } as unknown as DelayedMessage;

function handlerThat(handle: MessageHandler['handle']): MessageHandler {
  return { name: 'Jobs.work', concurrency: 3, batch: undefined, topics: [], handle };
}

function withMiddleware(handler: MessageHandler, middleware: readonly DelayQueueMiddleware[]): MessageHandler {
  return handleWithin(resolveMiddleware(middleware).handle, handler);
}

describe('handleWithin', () => {
  it.each<{ what: string; middleware: DelayQueueMiddleware[] }>([
    { what: 'no middleware', middleware: [] },
    { what: 'middleware for publishing only', middleware: [{ publish: async (_, next) => next() }] },
  ])('leaves the handler as it is if there is $what', ({ middleware }) => {
    const handler = handlerThat(() => 'done');
    expect(withMiddleware(handler, middleware)).toBe(handler);
  });

  it('calls the handler with its messages within the middleware, which sees what it returns', async () => {
    const steps: unknown[] = [];
    const handler = handlerThat((given) => {
      steps.push(given);
      return 'done';
    });
    const wrapped = withMiddleware(handler, [
      {
        handle: async (messages, next) => {
          steps.push(messages);
          const result = await next();
          steps.push(result);
          return result;
        },
      },
    ]);

    expect(wrapped).toMatchObject({ name: 'Jobs.work', concurrency: 3, topics: [] });
    expect(await wrapped.handle([message])).toBe('done');
    expect(steps).toEqual([[message], [message], 'done']);
  });

  it('tells of a handler that still runs when a middleware has given up, and when it has ended', async () => {
    const work = new Subject<void>();
    const wrapped = withMiddleware(
      handlerThat(() => lastValueFrom(work, { defaultValue: undefined })),
      [
        {
          handle: async (_, next) => {
            void next();
            throw new Error('gave up');
          },
        },
      ],
    );
    const told: string[] = [];
    const outlived = (ended: Promise<void>): void => {
      told.push('runs');
      void ended.then(() => told.push('has ended'));
    };
    await expect(wrapped.handle([message], outlived)).rejects.toThrow('gave up');
    await turns();
    expect(told).toEqual(['runs']);
    work.complete();
    await turns();
    expect(told).toEqual(['runs', 'has ended']);
  });

  it('calls the handler in the context of the middleware, and continues outside of it after the call', async () => {
    const context = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const handler = handlerThat(async () => {
      await new Promise((resolve) => setImmediate(resolve));
      seen.push(context.getStore());
    });
    const wrapped = withMiddleware(handler, [
      { handle: async ([first], next) => context.run(first?.headers['correlation-id'] ?? 'none', next) },
    ]);
    await wrapped.handle([message]);

    expect(seen).toEqual(['x']);
    expect(context.getStore()).toBeUndefined();
  });

  it('rejects with what the handler throws at once or later, and with what the middleware throws', async () => {
    const error = new Error('boom');
    const passing: DelayQueueMiddleware = { handle: async (_, next) => next() };
    const throwing = (): never => {
      throw error;
    };
    await expect(withMiddleware(handlerThat(throwing), [passing]).handle([message])).rejects.toBe(error);
    await expect(
      withMiddleware(
        handlerThat(async () => throwing()),
        [passing],
      ).handle([message]),
    ).rejects.toBe(error);
    await expect(
      withMiddleware(
        handlerThat(() => {}),
        [{ handle: throwing }],
      ).handle([message]),
    ).rejects.toBe(error);
  });

  it('calls methods of a class on their instance, and names the middleware by its place in the list', async () => {
    class Twice implements DelayQueueMiddleware {
      #calls = 0;

      async handle(_messages: readonly DelayedMessage[], next: () => Promise<unknown>): Promise<unknown> {
        this.#calls++;
        await next();
        return next();
      }

      get calls(): number {
        return this.#calls;
      }
    }

    const twice = new Twice();
    const wrapped = withMiddleware(
      handlerThat(() => {}),
      [{ publish: async (_, next) => next() }, twice],
    );
    await expect(wrapped.handle([message])).rejects.toThrow('middleware[1].handle called next() a second time');
    expect(twice.calls).toBe(1);
  });
});
