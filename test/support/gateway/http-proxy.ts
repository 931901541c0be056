import { once } from 'node:events';
import {
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
  createServer,
  request as ask,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import type { Gateway } from './gateway.js';

/** Starts a server that stands before gateways. */
export async function startHttpProxy(listener: RequestListener): Promise<Gateway> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** Where a request goes. */
export interface Destination {
  readonly target: URL;
  readonly path: string | undefined;
}

/**
 * Sends a request on to a gateway, as long as its sender is there.
 *
 * @param failed called if it is not answered; by default its sender loses the connection
 */
export function passOn(
  request: IncomingMessage,
  response: ServerResponse,
  { target: { hostname, port }, path }: Destination,
  answered: (answer: IncomingMessage) => void,
  failed: (error: NodeJS.ErrnoException) => void = () => request.socket.destroy(),
): void {
  const { method, headers } = request;
  const passed = ask({ hostname, port, method, path, headers }, answered);
  passed.once('error', failed);
  response.once('close', () => passed.destroy());
  request.pipe(passed);
}

/** Gives the sender of a request what a gateway has answered. */
export function giveBack(answer: IncomingMessage, response: ServerResponse): void {
  response.writeHead(answer.statusCode ?? 502, answer.headers);
  // A gateway may go in the middle of its answer.
  pipeline(answer, response, () => {});
}
