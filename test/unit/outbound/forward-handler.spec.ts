import { EMPTY, NEVER, Subject, of, throwError } from 'rxjs';
import { describe, expect, it, vi } from 'vitest';
import type { ForwardClient, ForwardOptions } from '../../../lib/outbound/forward/forward-options.interface.js';
import { ForwardHandler } from '../../../lib/outbound/forward/forward.handler.js';
import { resolveForward } from '../../../lib/outbound/forward/resolve-forward.js';
import { RetryLaterError } from '../../../lib/errors/handling.errors.js';
import { deliveredMessage } from '../../support/units/delivered-message.js';

const PATTERN = { event: 'paid' };

function set(emit: (pattern: unknown, data: unknown) => unknown, more: Partial<ForwardOptions> = {}) {
  const client = { emit: vi.fn<ForwardClient['emit']>(emit as ForwardClient['emit']) };
  return {
    client,
    handler: new ForwardHandler(resolveForward('forward', { client, pattern: PATTERN, ...more }), client),
  };
}

describe('what is forwarded', () => {
  it('is the payload under the pattern, or what is made of the message', async () => {
    const { client, handler } = set(() => EMPTY);
    await handler.handle(deliveredMessage({ payload: { n: 1 } }));
    const made = set(() => EMPTY, { concurrency: 3, data: async ({ id }) => Promise.resolve({ id }) });
    await made.handler.handle(deliveredMessage({ id: 'a' }));
    expect(made.handler.concurrency).toBe(3);
    expect([client.emit.mock.calls, made.client.emit.mock.calls]).toEqual([
      [[PATTERN, { n: 1 }]],
      [[PATTERN, { id: 'a' }]],
    ]);
  });

  it('is handled once its event has been completed, with a value or without', async () => {
    const event = new Subject<unknown>();
    const { handler } = set(() => event);
    let isHandled = false;
    const handling = handler.handle(deliveredMessage()).then(() => (isHandled = true));
    event.next('on its way');
    await new Promise(setImmediate);
    expect(isHandled).toBe(false);
    event.complete();
    await handling;
    await set(() => of(1, 2)).handler.handle(deliveredMessage());
  });

  it.each([
    ['an error', () => throwError(() => new Error('gone')), 'gone'],
    [
      'a text, as the client of RabbitMQ does',
      () => throwError(() => 'Error: Connection lost'),
      'Error: Connection lost',
    ],
    [
      'at once',
      () => {
        throw new Error('no socket');
      },
      'no socket',
    ],
    ['no observable', () => true, 'its emit() returns no Observable'],
    ['a promise that rejects', async () => Promise.reject(new Error('lost')), 'lost'],
  ])('has failed if the client fails with %s', async (_, emit, says) => {
    const error: unknown = await set(emit)
      .handler.handle(deliveredMessage())
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'FORWARD_FAILED', cause: expect.anything() as unknown });
    expect((error as Error).message).toContain(`The forward to Object has failed: ${says}`);
  });

  it.each([undefined, null])('is given up if there is nothing to send: %s', async (payload) => {
    const { client, handler } = set(() => NEVER);
    await expect(handler.handle(deliveredMessage({ payload }))).rejects.toMatchObject({
      code: 'UNRECOVERABLE',
      message: expect.stringContaining("A message of topic 'orders' has no data") as string,
    });
    expect(client.emit).not.toHaveBeenCalled();
  });

  it('fails as a handler would if its data cannot be made', async () => {
    const later = new RetryLaterError('1m');
    const { handler } = set(() => NEVER, {
      data: () => {
        throw later;
      },
    });
    await expect(handler.handle(deliveredMessage())).rejects.toBe(later);
  });
});
