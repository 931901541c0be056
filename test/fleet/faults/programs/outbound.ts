import { type IncomingMessage, type Server, type ServerResponse, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type { DelayQueueMiddleware, DelayedMessage, TopicOptions } from 'nestjs-delay-queue';
import { Observable } from 'rxjs';

/** What records the messages. */
export interface Worker {
  /** A message is handed over: from now on it is under way, whether or not it arrives. */
  begin(message: DelayedMessage): void;
  /** What is behind the URL or the client: it throws if it does not take the message. */
  work(message: DelayedMessage): Promise<void>;
}

const SECRET = `whsec_${Buffer.alloc(32, 'of the faults').toString('base64')}`;

/**
 * A server in this process that messages are pushed to, or forwarded to by a client. It does the work of a handler, so that it ends with the
 * process, and what it records is that of the process.
 */
export class OutboundServer {
  readonly #server: Server;
  readonly #worker: Worker;
  /** Messages on their way, by id and attempt: what a receiver has to record is not all in a request. */
  readonly #underway = new Map<string, DelayedMessage>();

  private constructor(worker: Worker) {
    this.#worker = worker;
    this.#server = createServer((incoming, response) => void this.#take(incoming, response));
  }

  static async start(worker: Worker): Promise<OutboundServer> {
    const server = new OutboundServer(worker);
    await new Promise<void>((resolve) => {
      server.#server.listen(0, '127.0.0.1', resolve);
    });
    return server;
  }

  /** Notes which messages are handed over. */
  get middleware(): DelayQueueMiddleware {
    return {
      handle: async (messages, next) => {
        for (const message of messages) {
          this.#underway.set(keyOf(message), message);
          this.#worker.begin(message);
        }
        try {
          return await next();
        } finally {
          for (const message of messages) this.#underway.delete(keyOf(message));
        }
      },
    };
  }

  /** What makes the messages of a topic go to this server. */
  options(kind: 'push' | 'forward'): TopicOptions {
    if (kind === 'push') return { push: { url: this.#url, secret: SECRET, allowPrivate: true, concurrency: 100 } };
    const client = { emit: (_: unknown, data: unknown) => this.#emit(data) };
    return { forward: { client, pattern: 'work', data: ({ id, attempt }) => ({ id, attempt }) } };
  }

  get #url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async #take(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = (await json(incoming)) as { id: string; attempt?: number };
    const { id, attempt = Number(incoming.headers['delay-queue-attempt']) } = body;
    const message = this.#underway.get(keyOf({ id, attempt }));
    // Whoever has sent it has given it up meanwhile.
    if (!message) return void response.destroy();
    try {
      await this.#worker.work(message);
      response.writeHead(200).end();
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  }

  /** A client as those of `@nestjs/microservices` are: what it sends is sent, whoever still waits for it. */
  #emit(data: unknown): Observable<unknown> {
    return new Observable((observer) => {
      const sent = request(this.#url, { method: 'POST' }, (response) => {
        response.resume();
        if (response.statusCode === 200) observer.complete();
        else observer.error(new Error(`Answered with ${response.statusCode}`));
      });
      sent.on('error', (error) => observer.error(error));
      sent.end(JSON.stringify(data));
    });
  }
}

function keyOf({ id, attempt }: Pick<DelayedMessage, 'id' | 'attempt'>): string {
  return `${id} ${attempt}`;
}
