import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { DelayQueueMiddleware, DelayedMessage, PushOptions } from 'nestjs-delay-queue';

export interface PushedServerOptions {
  /** Is called before the request is sent: one that is on its way while the process is stopped comes late, as on any network. */
  readonly onPush: (message: DelayedMessage) => void;
  /** Is called by the request; answers 500 if it throws. */
  readonly work: (message: DelayedMessage) => Promise<void>;
}

/** A server that messages are pushed to. It ends with the process that pushes, so what it records is that of the process. */
export class PushedServer {
  readonly #options: PushedServerOptions;
  readonly #server = createServer((request, response) => void this.#take(request, response));
  /** Messages on their way, by id and attempt: what is to be recorded of them is not all in a request. */
  readonly #underway = new Map<string, DelayedMessage>();

  private constructor(options: PushedServerOptions) {
    this.#options = options;
  }

  static async start(options: PushedServerOptions): Promise<PushedServer> {
    const server = new PushedServer(options);
    await new Promise<void>((resolve) => {
      server.#server.listen(0, '127.0.0.1', resolve);
    });
    return server;
  }

  get push(): PushOptions {
    const { port } = this.#server.address() as AddressInfo;
    const secret = `whsec_${Buffer.alloc(32, 'of the faults').toString('base64')}`;
    return { url: `http://127.0.0.1:${port}`, secret, allowPrivate: true, concurrency: 100 };
  }

  /** Notes which messages are pushed. */
  get middleware(): DelayQueueMiddleware {
    return {
      handle: async ([message], next) => {
        if (!message) return next();
        const key = keyOf(message.id, message.attempt);
        this.#underway.set(key, message);
        this.#options.onPush(message);
        try {
          return await next();
        } finally {
          this.#underway.delete(key);
        }
      },
    };
  }

  async #take({ headers }: IncomingMessage, response: ServerResponse): Promise<void> {
    const message = this.#underway.get(keyOf(headers['delay-queue-id'], headers['delay-queue-attempt']));
    // Whoever has pushed it has given it up meanwhile.
    if (!message) return void response.destroy();
    try {
      await this.#options.work(message);
      response.writeHead(204).end();
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  }
}

function keyOf(id: unknown, attempt: unknown): string {
  return `${String(id)} ${String(attempt)}`;
}
