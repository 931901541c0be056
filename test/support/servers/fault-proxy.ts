import { once } from 'node:events';
import { type AddressInfo, type Server, type Socket, connect, createServer } from 'node:net';

/** What passes on a connection: that of a subscriber carries signals. */
export type Traffic = 'calls' | 'signals';

interface Pair {
  readonly client: Socket;
  readonly upstream: Socket;
  traffic: Traffic;
  /** Replies go nowhere. */
  deaf: boolean;
}

/** Stands between a process and Redis, and breaks what passes through it when told to. */
export class FaultProxy {
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  #target: number;
  #stalled = false;
  #refusing = false;
  /** How many more bytes of replies pass before the connection that carries them is cut. */
  #repliesLeft = Infinity;

  private constructor(server: Server, target: number) {
    this.#server = server;
    this.#target = target;
    server.on('connection', (client) => this.#open(client));
  }

  /** @param target the port on the loopback interface to which it leads */
  static async start(target: number): Promise<FaultProxy> {
    const server = createServer();
    const proxy = new FaultProxy(server, target);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** New connections lead to another port from now on; those that there are stay where they are. */
  point(target: number): void {
    this.#target = target;
  }

  /** Nothing passes any more, and nobody is told. */
  stall(): void {
    this.#stalled = true;
    for (const { client, upstream } of this.#pairs) {
      client.pause();
      upstream.pause();
    }
  }

  resume(): void {
    this.#stalled = false;
    for (const { client, upstream } of this.#pairs) {
      client.resume();
      upstream.resume();
    }
  }

  /** Every connection ends with a reset. */
  reset(): void {
    for (const { client, upstream } of this.#pairs) {
      client.resetAndDestroy();
      upstream.destroy();
    }
  }

  /** New connections are closed at once, until told otherwise. */
  refuse(refusing: boolean): void {
    this.#refusing = refusing;
    if (refusing) this.reset();
  }

  /** Requests still reach Redis, but after so many more bytes of replies the connection is cut: the rest is lost. */
  cutRepliesAfter(bytes: number): void {
    this.#repliesLeft = bytes;
  }

  /**
   * Half of the connections that there are now die: requests still reach Redis, but no reply comes back, and nobody is told.
   * New connections are whole.
   */
  deafen(traffic: Traffic): void {
    for (const pair of this.#pairs) if (pair.traffic === traffic) pair.deaf = true;
  }

  async close(): Promise<void> {
    for (const { client, upstream } of this.#pairs) {
      client.destroy();
      upstream.destroy();
    }
    this.#server.close();
    await once(this.#server, 'close');
  }

  #open(client: Socket): void {
    if (this.#refusing) {
      client.resetAndDestroy();
      return;
    }
    const upstream = connect(this.#target, '127.0.0.1');
    const pair: Pair = { client, upstream, traffic: 'calls', deaf: false };
    this.#pairs.add(pair);
    client.on('data', (chunk) => {
      if (chunk.includes('subscribe')) pair.traffic = 'signals';
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => this.#reply(pair, chunk));
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.on('error', () => {});
      from.on('close', () => {
        this.#pairs.delete(pair);
        to.destroy();
      });
    }
    if (this.#stalled) {
      client.pause();
      upstream.pause();
    }
  }

  #reply({ client, upstream, deaf }: Pair, chunk: Buffer): void {
    if (deaf) return;
    if (chunk.length <= this.#repliesLeft) {
      this.#repliesLeft -= chunk.length;
      client.write(chunk);
      return;
    }
    const passes = chunk.subarray(0, this.#repliesLeft);
    this.#repliesLeft = Infinity;
    client.write(passes, () => client.destroy());
    upstream.destroy();
  }
}
