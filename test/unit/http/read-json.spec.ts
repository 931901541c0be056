import { once } from 'node:events';
import { type IncomingMessage, createServer } from 'node:http';
import { type AddressInfo, type Socket, connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { readJson } from '../../../lib/http/read-json.js';
import { eventually } from '../../support/waiting.js';

const RULES = { max: 20, tooLarge: 'LARGE', noJson: 'NO_JSON' };

/** Sends the text as it is, and gives the request as a server has it; the socket stays open. */
async function send(text: string): Promise<{ request: IncomingMessage; socket: Socket }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  onTestFinished(async () => {
    socket.destroy();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  socket.write(text);
  const [request] = (await once(server, 'request')) as [IncomingMessage];
  return { request, socket };
}

function post(length: number, body: string): string {
  return `POST / HTTP/1.1\r\nhost: here\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n${body}`;
}

it('reads a body that comes in parts, also if one ends within a character', async () => {
  const body = Buffer.from('{"of":"ü😀"}');
  const { request, socket } = await send(post(body.length, ''));
  const read = readJson(request, RULES);
  for (const byte of body) {
    socket.write(Buffer.of(byte));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  expect(await read).toEqual({ of: 'ü😀' });
});

it('has nothing for an empty body', async () => {
  const { request } = await send(post(0, ''));
  expect(await readJson(request, RULES)).toBeUndefined();
});

it.each([
  ['is no JSON', '{"of":', { status: 400, code: 'NO_JSON' }],
  ['is larger than allowed', `"${'x'.repeat(30)}"`, { status: 413, code: 'LARGE' }],
])('refuses a body that %s', async (_, body, refusal) => {
  const { request } = await send(post(body.length, body));
  await expect(readJson(request, RULES)).rejects.toMatchObject(refusal);
});

it('refuses a body that is far too large before it has come', async () => {
  const { request } = await send(post(100_000_000, '{'));
  await expect(readJson(request, RULES)).rejects.toMatchObject({ status: 413 });
});

it('reads a body as large as its limit allows, also if that is more than it throws away', async () => {
  const body = `1${' '.repeat(70_000_000)}`;
  const rules = { ...RULES, max: 80_000_000 };
  const { request } = await send(post(body.length, body));
  expect(await readJson(request, rules)).toBe(1);
  const chunked = `POST / HTTP/1.1\r\nhost: here\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`;
  const { request: other } = await send(`${chunked}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`);
  expect(await readJson(other, rules)).toBe(1);
});

it('rejects if the connection ends in the middle of the body', async () => {
  const { request, socket } = await send(post(20, '{"of"'));
  setImmediate(() => socket.destroy());
  await expect(readJson(request, RULES)).rejects.toThrow('aborted');
});

it('rejects if the connection has ended before it is called', async () => {
  const { request, socket } = await send(post(20, '{"of"'));
  socket.destroy();
  await eventually(() => expect(request.destroyed).toBe(true));
  await expect(readJson(request, RULES)).rejects.toThrow('ended before the body');
});
