import { once } from 'node:events';
import { type AddressInfo, type Server, type Socket, connect, createServer } from 'node:net';

/** How long it is there, and then away, in milliseconds. */
const PERIOD = 2000;

/** A proxy before a gateway that is away half of the time: its connections end, and nothing accepts new ones. */
export class BrokenProxy {
  readonly #target: URL;
  readonly #server: Server;
  readonly #port: number;
  readonly #sockets = new Set<Socket>();
  readonly #timer: NodeJS.Timeout;

  private constructor(server: Server, target: URL) {
    this.#server = server;
    this.#target = target;
    this.#port = (server.address() as AddressInfo).port;
    server.on('connection', (socket) => this.#pass(socket));
    // In the moment before it listens again another program may have the port; then it comes with the next turn.
    server.on('error', () => {});
    this.#timer = setInterval(() => this.#turn(), PERIOD);
  }

  static async start(target: string): Promise<BrokenProxy> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new BrokenProxy(server, new URL(target));
  }

  /** With the path of the gateway. */
  get url(): string {
    return `http://127.0.0.1:${this.#port}${this.#target.pathname.replace(/\/$/, '')}`;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#leave();
  }

  #turn(): void {
    if (this.#server.listening) this.#leave();
    else this.#server.listen(this.#port, '127.0.0.1');
  }

  #leave(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  #pass(client: Socket): void {
    const gateway = connect(Number(this.#target.port), this.#target.hostname);
    this.#sockets.add(client);
    client.once('close', () => this.#sockets.delete(client));
    for (const [from, to] of [
      [client, gateway],
      [gateway, client],
    ] as const) {
      from.on('error', () => {});
      from.once('close', () => to.destroy());
      from.pipe(to);
    }
  }
}
