import type { Argument } from '../../../store/lua/lua-script.js';
import type { IoRedis, RedisClient } from '../connection/redis-clients.js';

/** Command that runs a script, by its hash or by its source. */
export type ScriptCommandName = 'evalsha' | 'eval';

/** Client through which scripts are sent. */
export interface ScriptClient {
  /** @param args hash or source, number of keys, keys and arguments; they are kept, and have to stay as they are */
  send(name: ScriptCommandName, args: Argument[]): Promise<unknown>;
}

/**
 * Returns a client for scripts that sends commands of its own form through a client of ioredis, see docs/decisions/0145. A client
 * that gathers commands into pipelines, or notes where each was called, makes them itself; so does one of another copy of ioredis,
 * which may be of another version.
 */
export function scriptClientOf(ioredis: IoRedis, client: RedisClient): ScriptClient {
  const { enableAutoPipelining, showFriendlyErrorStack } = client.options;
  const isOfThisCopy = client instanceof ioredis.Redis || client instanceof ioredis.Cluster;
  if (!isOfThisCopy || enableAutoPipelining || showFriendlyErrorStack) {
    return { send: (name, args) => client.call(name, ...args) };
  }
  const ScriptCommand = scriptCommandOf(ioredis);
  return { send: (name, args) => client.sendCommand(new ScriptCommand(name, args)) as Promise<unknown> };
}

/** Text before an argument, by its length. */
const HEADS: readonly string[] = Array.from({ length: 256 }, (_, length) => headOf(length));

function headOf(length: number): string {
  return `\r\n$${length}\r\n`;
}

function withHead(text: string): string {
  return (HEADS[text.length] ?? headOf(text.length)) + text;
}

/** Makes a kind of command that takes its arguments as they are, and writes them faster than ioredis does. */
function scriptCommandOf({ Command }: Pick<IoRedis, 'Command'>) {
  return class extends Command {
    constructor(name: ScriptCommandName, args: Argument[]) {
      // Arguments given here would be copied as lists that may hold lists.
      super(name, [], { replyEncoding: 'utf8' });
      this.args = args;
      this.stringifyArguments();
    }

    override toWritable(socket: object): string | Buffer {
      let text = `*${this.args.length + 1}${withHead(this.name)}`;
      for (const arg of this.args as readonly string[]) text += withHead(arg);
      text += '\r\n';
      // Lengths are in bytes: those of the texts are right if each character takes one.
      return Buffer.byteLength(text) === text.length ? text : super.toWritable(socket);
    }
  };
}
