import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { SOON, eventually } from '../waiting.js';

/** A request as a receiver of pushes has it. */
export interface PushedRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Whether the sender has gone before it was answered. */
  isAborted: boolean;
}

/** What the receiver does with a request; `n` counts them from 1. */
export type Answering = (response: ServerResponse, request: PushedRequest, n: number) => unknown;

/** A server of a test's own that messages are pushed to. */
export class PushReceiver {
  readonly requests: PushedRequest[] = [];
  /** By default it takes all. */
  answer: Answering = (response) => response.writeHead(204).end();
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Connections so far. */
  connections = 0;

  private constructor() {
    this.#server = createServer((request, response) => void this.#take(request, response));
    // Whoever pushes closes connections.
    this.#server.keepAliveTimeout = 0;
    this.#server.on('connection', (socket) => {
      this.connections++;
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      socket.on('error', () => {});
    });
  }

  static async start(): Promise<PushReceiver> {
    const receiver = new PushReceiver();
    await new Promise<void>((resolve) => {
      receiver.#server.listen(0, '127.0.0.1', resolve);
    });
    return receiver;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/hooks?token=in-the-query`;
  }

  /** Resolves with the first `count` requests, once there are that many. */
  async received(count = 1, timeout = SOON): Promise<PushedRequest[]> {
    return eventually(() => {
      if (this.requests.length < count) throw new Error(`${this.requests.length} of ${count} requests so far`);
      return this.requests.slice(0, count);
    }, timeout);
  }

  /** Connections that are open. */
  get open(): number {
    return this.#sockets.size;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  async #take(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request: PushedRequest = {
      headers: incoming.headers as Record<string, string>,
      body: await text(incoming),
      isAborted: false,
    };
    response.on('close', () => (request.isAborted = !response.writableFinished));
    await this.answer(response, request, this.requests.push(request));
  }
}
