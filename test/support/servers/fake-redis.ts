import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';

/** Answers just enough of the Redis protocol to be connected to, as a server of any version. */
export interface FakeRedis {
  readonly port: number;
  /** The commands it was sent, in upper case. */
  readonly commands: readonly string[];
  /** How many connections have subscribed. */
  readonly subscribers: () => number;
  /** Sends a message to all connections that have subscribed. */
  readonly tell: (channel: string, message: string) => void;
  readonly stop: () => Promise<void>;
}

/**
 * @param info what `INFO` says
 * @param answer answers some commands otherwise, in the form of the protocol
 * @param onPort where it listens; `0`: anywhere
 */
export async function startFakeRedis(
  info: string,
  answer: (words: readonly string[]) => string | undefined = () => undefined,
  onPort = 0,
): Promise<FakeRedis> {
  const commands: string[] = [];
  const sockets = new Set<Socket>();
  const subscribed = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let received = '';
    socket.on('error', () => {});
    socket.on('close', () => subscribed.delete(socket));
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      for (let command = parse(received); command; command = parse(received)) {
        received = received.slice(command.length);
        const name = (command.words[0] ?? '').toUpperCase();
        commands.push(name);
        if (name === 'SUBSCRIBE') subscribed.add(socket);
        socket.write(answer(command.words) ?? reply(name, info));
      }
    });
  }).listen(onPort, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as { port: number }).port,
    commands,
    subscribers: () => subscribed.size,
    tell: (channel, message) => {
      for (const socket of subscribed) socket.write(`*3\r\n${bulk('message')}${bulk(channel)}${bulk(message)}`);
    },
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

function reply(command: string, info: string): string {
  if (command === 'HELLO') return '-ERR unknown command `HELLO`, with args beginning with: `3`, \r\n';
  if (command === 'CLIENT') return "-ERR Unknown subcommand or wrong number of arguments for 'SETINFO'\r\n";
  if (command === 'INFO') return bulk(info);
  // Every script answers with the time, and these have nothing else to say.
  if (command === 'EVALSHA' || command === 'EVAL') return '*1\r\n:1767225600000000\r\n';
  if (command === 'TIME') return '*2\r\n$10\r\n1767225600\r\n$1\r\n0\r\n';
  return '+OK\r\n';
}

export function bulk(text: string): string {
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
}

/** The first command of a stream: `*<count>` and then `$<length>` and the word for each; `undefined` if incomplete. */
function parse(stream: string): { words: string[]; length: number } | undefined {
  const head = /^\*(\d+)\r\n/.exec(stream);
  if (!head) return undefined;
  const words: string[] = [];
  let position = head[0].length;
  for (let i = 0; i < Number(head[1]); i++) {
    const size = /^\$(\d+)\r\n/.exec(stream.slice(position));
    if (!size) return undefined;
    const start = position + size[0].length;
    const end = start + Number(size[1]);
    if (stream.length < end + 2) return undefined;
    words.push(stream.slice(start, end));
    position = end + 2;
  }
  return { words, length: position };
}
