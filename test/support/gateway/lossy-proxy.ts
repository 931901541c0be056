import { once } from 'node:events';
import { type IncomingMessage, type Server, type ServerResponse, createServer, request as ask } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A proxy before a gateway that loses the response to the first try of each request with an `Idempotency-Key`. */
export class LossyProxy {
  readonly #server: Server;
  readonly #target: URL;
  readonly #tried = new Set<string>();

  private constructor(target: URL) {
    this.#target = target;
    this.#server = createServer((request, response) => this.#pass(request, response));
  }

  static async start(target: string): Promise<LossyProxy> {
    const proxy = new LossyProxy(new URL(target));
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  /** With the path of the gateway. */
  get url(): string {
    const path = this.#target.pathname.replace(/\/$/, '');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`;
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  #pass(request: IncomingMessage, response: ServerResponse): void {
    const { method, url, headers } = request;
    const isLost = this.#isFirstTry(headers['idempotency-key']);
    const { hostname, port } = this.#target;
    const passed = ask({ hostname, port, method, path: url, headers }, (answer) => {
      if (isLost) {
        // The gateway has done it and answered; only then is the answer lost.
        answer.resume().once('end', () => request.socket.destroy());
        return;
      }
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    passed.once('error', () => request.socket.destroy());
    response.once('close', () => passed.destroy());
    request.pipe(passed);
  }

  #isFirstTry(key: string | string[] | undefined): boolean {
    if (typeof key !== 'string' || this.#tried.has(key)) return false;
    this.#tried.add(key);
    return true;
  }
}
