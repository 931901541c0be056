import { HASH_COMMANDS } from './hash-commands.js';
import { KEY_COMMANDS } from './key-commands.js';
import { type Command, type DataReply, Keyspace, type Snapshot } from './keyspace.js';
import { ReplyError } from './reply-error.js';
import { SORTED_SET_COMMANDS } from './sorted-set-commands.js';
import { STREAM_COMMANDS } from './stream-commands.js';

export type { Snapshot };

const COMMANDS = { ...KEY_COMMANDS, ...HASH_COMMANDS, ...SORTED_SET_COMMANDS, ...STREAM_COMMANDS };

const BY_NAME = new Map<string, Command>(Object.entries(COMMANDS));

/**
 * The commands of Redis that the scripts and the operations use, on data in this process. Texts have one character for each of their
 * bytes.
 */
export class EmbeddedData {
  readonly #keys: Keyspace;
  readonly #publish: (channel: string, message: string) => void;

  /**
   * @param now epoch milliseconds
   * @param publish sends a message to whoever listens
   */
  constructor(now: () => number, publish: (channel: string, message: string) => void) {
    this.#keys = new Keyspace(now);
    this.#publish = publish;
  }

  /** The keys that hold something. */
  get keys(): string[] {
    return this.#keys.names;
  }

  /** What is stored now, whatever becomes of it. */
  snapshot(): Snapshot {
    return this.#keys.snapshot();
  }

  /** @param snapshot `undefined`: nothing is left */
  restore(snapshot: Snapshot | undefined): void {
    this.#keys.restore(snapshot);
  }

  /** @throws ReplyError as Redis replies */
  call(name: string, ...args: string[]): DataReply {
    if (name === 'PUBLISH') {
      this.#publish(args[0] ?? '', args[1] ?? '');
      return 0;
    }
    const command = BY_NAME.get(name);
    if (!command) throw new ReplyError(`ERR unknown command '${name}'`);
    return command(this.#keys, ...args);
  }
}
