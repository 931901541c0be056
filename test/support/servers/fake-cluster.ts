import { Command } from 'ioredis';
import type { ServerTraits } from '../../../lib/engines/redis/connection/server-info.js';
import { type FakeRedis, bulk, startFakeRedis } from './fake-redis.js';

const SLOTS = 16_384;

/** A cluster of fakes, each with traits and a clock that a test sets. */
export class FakeCluster {
  readonly nodes: readonly FakeNode[];

  /** @param size how many masters share the slots */
  constructor(size: number) {
    this.nodes = Array.from({ length: size }, () => new FakeNode(this));
  }

  static async start(size: number): Promise<FakeCluster> {
    const cluster = new FakeCluster(size);
    for (const node of cluster.nodes) await node.start();
    return cluster;
  }

  /** The node that holds a key, or a channel. */
  holderOf(key: string): FakeNode {
    return this.nodes[Math.floor(slotOf(key) / this.#share)] as FakeNode;
  }

  get settings(): { nodes: { host: string; port: number }[] } {
    return { nodes: this.nodes.map(({ port }) => ({ host: '127.0.0.1', port })) };
  }

  async stop(): Promise<void> {
    for (const node of this.nodes) await node.stop();
  }

  get #share(): number {
    return Math.ceil(SLOTS / this.nodes.length);
  }

  /** Which node holds which slots, as CLUSTER SLOTS says it. */
  get slots(): string {
    const ranges = this.nodes.map(({ port }, i) => {
      const last = Math.min(SLOTS, (i + 1) * this.#share) - 1;
      return `*3\r\n:${i * this.#share}\r\n:${last}\r\n*2\r\n$9\r\n127.0.0.1\r\n:${port}\r\n`;
    });
    return `*${ranges.length}\r\n${ranges.join('')}`;
  }
}

/** A master of a {@link FakeCluster}. */
export class FakeNode {
  port = 0;
  /** What it can do, whatever its version says. */
  traits: ServerTraits = { scriptFlags: true, shardedPubSub: true };
  /** How far its clock is ahead of the machine's, in milliseconds. */
  ahead = 0;
  /** Whether it says nothing to what subscribes. */
  isDeaf = false;
  /** What it was sent, the newest last. */
  readonly calls: (readonly string[])[] = [];
  readonly #cluster: FakeCluster;
  #server: FakeRedis | undefined;

  constructor(cluster: FakeCluster) {
    this.#cluster = cluster;
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** The names of the commands it was sent. */
  get commands(): string[] {
    return this.calls.map(([name = '']) => name.toUpperCase());
  }

  /** Starts it, again after a stop. */
  async start(): Promise<void> {
    this.#server = await startFakeRedis('', (words) => this.#answer(words), this.port);
    this.port = this.#server.port;
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    this.#server = undefined;
  }

  #answer(words: readonly string[]): string | undefined {
    this.calls.push(words);
    const [name = '', first = ''] = words;
    const microseconds = Math.round((Date.now() + this.ahead) * 1000);
    switch (name.toUpperCase()) {
      case 'CLUSTER':
        return first.toUpperCase() === 'SLOTS' ? this.#cluster.slots : bulk('cluster_state:ok');
      case 'INFO':
        return bulk('redis_version:7.0.15\r\n');
      case 'TIME':
        return `*2\r\n${bulk(String(Math.floor(microseconds / 1_000_000)))}${bulk(String(microseconds % 1_000_000))}`;
      case 'EVAL':
      case 'EVALSHA':
        if (words[2] === '0') return this.#tried(first);
        return this.#moved(words[3] ?? '') ?? `*1\r\n:${microseconds}\r\n`;
      case 'SSUBSCRIBE':
      case 'SUNSUBSCRIBE':
        if (this.isDeaf) return '';
        return this.#moved(first) ?? `*3\r\n${bulk(name.toLowerCase())}${bulk(first)}:1\r\n`;
      case 'SUBSCRIBE':
      case 'UNSUBSCRIBE':
        return `*3\r\n${bulk(name.toLowerCase())}${bulk(first)}:1\r\n`;
      default:
        return undefined;
    }
  }

  /** What the script answers that tries a server's traits. */
  #tried(script: string): string {
    const { scriptFlags, shardedPubSub } = this.traits;
    if (script.startsWith('#!') && !scriptFlags) return "-ERR Error compiling script: unexpected symbol near '#'\r\n";
    return bulk(
      shardedPubSub ? 'ERR Wrong number of args calling Redis command From Lua script' : 'ERR unknown command',
    );
  }

  #moved(key: string): string | undefined {
    const holder = this.#cluster.holderOf(key);
    return holder === this ? undefined : `-MOVED ${slotOf(key)} ${holder.address}\r\n`;
  }
}

function slotOf(key: string): number {
  return new Command('get', [key]).getSlot();
}
