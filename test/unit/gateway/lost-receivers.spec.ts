import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { useServedHandler } from '../../support/units/served-handler.js';
import { Gate, eventually } from '../../support/waiting.js';

type Receive = (topic: unknown, options: { signal: AbortSignal }) => Promise<object[]>;

const serve = useServedHandler();

/** A gateway whose receiver answers what it is told to, to somebody who does not read. */
async function receiving(receive: (signal: AbortSignal) => Promise<object[]>) {
  const settleMany = vi.fn<() => Promise<[]>>(async () => []);
  const receiver = {
    receive: vi.fn<Receive>(async (_, { signal }) => receive(signal)),
    settleMany,
  };
  const socket: Socket = connect(await serve({ receiver }), '127.0.0.1');
  await once(socket, 'connect');
  socket.pause();
  socket.on('error', () => {});
  socket.write('POST /v1/topics/jobs/receive HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n');
  await eventually(() => expect(receiver.receive).toHaveBeenCalled());
  return { socket, settleMany };
}

function message(payload: string): object {
  return { payload, receipt: 'r', leaseEndsAt: new Date() };
}

const RELEASED = [[[{ receipt: 'r', outcome: 'release' }]]];

describe('who receives and goes', () => {
  it('has released what was claimed meanwhile', async () => {
    const ended = new Gate();
    const { socket, settleMany } = await receiving(async (signal) => {
      signal.addEventListener('abort', () => ended.open());
      await ended.opened;
      return [message('x')];
    });
    socket.destroy();
    await eventually(() => expect(settleMany.mock.calls).toEqual(RELEASED));
  });

  it('has released what was being written', async () => {
    // More than the buffers of a connection hold.
    const { socket, settleMany } = await receiving(async () => [message('x'.repeat(64 * 1024 * 1024))]);
    await once(socket, 'readable');
    socket.destroy();
    await eventually(() => expect(settleMany.mock.calls).toEqual(RELEASED));
  });

  it('keeps what was written', async () => {
    const { socket, settleMany } = await receiving(async () => [message('x')]);
    await once(socket, 'readable');
    socket.destroy();
    await once(socket, 'close');
    await new Promise(setImmediate);
    expect(settleMany).not.toHaveBeenCalled();
  });
});
