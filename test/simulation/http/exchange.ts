import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';

export interface HttpRequest {
  readonly path: string;
  readonly body: object;
  /** The `Idempotency-Key`, if it may be sent again. */
  readonly key?: string;
}

export interface HttpAnswer {
  readonly status: number;
  /** What its JSON says. */
  readonly body: unknown;
}

/** A connection with nothing on it but one request. */
class Connection extends EventEmitter {
  destroyed = false;
  readonly remoteAddress = '198.51.100.7';

  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.emit('close');
  }
}

/** As Node.js has it, as far as the gateway uses it. */
class Response extends EventEmitter {
  headersSent = false;
  readonly #onEnd: (status: number, text: string) => void;
  #status = 0;

  constructor(onEnd: (status: number, text: string) => void) {
    super();
    this.#onEnd = onEnd;
  }

  writeHead(status: number): void {
    this.headersSent = true;
    this.#status = status;
  }

  end(text = ''): void {
    this.emit('finish');
    this.#onEnd(this.#status, text);
  }
}

/** A request that has arrived at a gateway, and the answer to it, without a socket. */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: Buffer;
  readonly path: string;
  readonly #connection = new Connection();

  constructor({ path, body, key }: HttpRequest, onAnswer: (answer: HttpAnswer) => void) {
    this.path = path;
    this.body = Buffer.from(JSON.stringify(body));
    const headers = { 'content-type': 'application/json', ...(key !== undefined && { 'idempotency-key': key }) };
    // What the gateway asks of them, and nothing else.
    this.request = { method: 'POST', headers, socket: this.#connection } as unknown as IncomingMessage;
    this.response = new Response((status, text) => {
      // What is written to a connection that is gone gets nowhere.
      if (!this.#connection.destroyed) onAnswer({ status, body: JSON.parse(text) });
    }) as unknown as ServerResponse;
  }

  /** Whoever asks is gone. */
  cut(): void {
    this.#connection.destroy();
  }
}
