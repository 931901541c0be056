import { once } from 'node:events';
import { type AddressInfo, type Server, type Socket, connect, createServer } from 'node:net';

/** The traffic of a connection: a subscriber's connection carries signals. */
export type Traffic = 'calls' | 'signals';

interface Pair {
  readonly client: Socket;
  readonly upstream: Socket;
  traffic: Traffic;
  /** Drops all replies. */
  deaf: boolean;
}

/** A proxy between a process and Redis that can break the traffic. */
export class FaultProxy {
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  #target: number;
  #stalled = false;
  #refusing = false;
  #onRequest: ((connection: object, chunk: Buffer) => void) | undefined;
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

  /** Leads new connections to another port; existing ones stay where they are. */
  point(target: number): void {
    this.#target = target;
  }

  /** Lets nothing pass any more, silently. */
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

  /** Ends every connection with a reset. */
  reset(): void {
    for (const { client, upstream } of this.#pairs) {
      client.resetAndDestroy();
      upstream.destroy();
    }
  }

  /** Closes new connections at once, or accepts them again. */
  refuse(refusing: boolean): void {
    this.#refusing = refusing;
    if (refusing) this.reset();
  }

  /** Cuts the connection after this many more bytes of replies; requests still reach Redis, and further replies are lost. */
  cutRepliesAfter(bytes: number): void {
    this.#repliesLeft = bytes;
  }

  /**
   * Makes the current connections half dead: requests still reach Redis, but replies silently get lost. New connections work.
   */
  deafen(traffic: Traffic): void {
    for (const pair of this.#pairs) if (pair.traffic === traffic) pair.deaf = true;
  }

  /** Calls the listener with all that new connections send from now on, in the order in which each sends it. */
  onRequest(listener: (connection: object, chunk: Buffer) => void): void {
    this.#onRequest = listener;
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
      this.#onRequest?.(pair, chunk);
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
