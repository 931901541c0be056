import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { useServedHandler } from '../../support/units/served-handler.js';
import { Gate, eventually } from '../../support/waiting.js';

type Receive = (topic: unknown, options: { signal: AbortSignal }) => Promise<object[]>;

const serve = useServedHandler();

/** A gateway whose receiver answers what it is told to, to somebody who does not read. */
async function receiving(receive: (signal: AbortSignal) => Promise<object[]>, { times = 1 } = {}) {
  const receiver = { receive: vi.fn<Receive>(async (_, { signal }) => receive(signal)) };
  const socket: Socket = connect(await serve({ receiver }), '127.0.0.1');
  await once(socket, 'connect');
  socket.pause();
  socket.on('error', () => {});
  socket.write('POST /v1/topics/jobs/receive HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n'.repeat(times));
  await eventually(() => expect(receiver.receive).toHaveBeenCalledTimes(times));
  return socket;
}

function message(payload: string) {
  return { payload, receipt: 'r', lease: 1000, release: vi.fn<() => Promise<string>>(async () => 'settled') };
}

describe('who receives and goes', () => {
  it('has released what was claimed meanwhile', async () => {
    const ended = new Gate();
    const claimed = message('x');
    const socket = await receiving(async (signal) => {
      signal.addEventListener('abort', () => ended.open());
      await ended.opened;
      return [claimed];
    });
    socket.destroy();
    await eventually(() => expect(claimed.release).toHaveBeenCalledOnce());
  });

  it('has released what was claimed for a request behind another on its connection', async () => {
    const ended = new Gate();
    const claimed = [message('x'), message('y')];
    let asked = 0;
    const socket = await receiving(
      async (signal) => {
        const mine = claimed[asked++] as object;
        signal.addEventListener('abort', () => asked === 2 && ended.open());
        await ended.opened;
        return [mine];
      },
      { times: 2 },
    );
    socket.destroy();
    await eventually(() => {
      for (const { release } of claimed) expect(release).toHaveBeenCalledOnce();
    });
  });

  it('has released what was being written', async () => {
    // More than the buffers of a connection hold.
    const large = message('x'.repeat(64 * 1024 * 1024));
    const socket = await receiving(async () => [large]);
    await once(socket, 'readable');
    socket.destroy();
    await eventually(() => expect(large.release).toHaveBeenCalledOnce());
  });

  it('keeps what was written', async () => {
    const small = message('x');
    const socket = await receiving(async () => [small]);
    await once(socket, 'readable');
    socket.destroy();
    await once(socket, 'close');
    await new Promise(setImmediate);
    expect(small.release).not.toHaveBeenCalled();
  });
});
