import { once } from 'node:events';
import { type Socket, connect } from 'node:net';

/** Commands that write, and that a caller might have given up before they arrived. */
const COPIED = new Set(['EVALSHA', 'EVAL', 'HSET']);

/**
 * Sends commands of other connections once more, later, over a connection of its own: what a caller has sent, has given up since
 * its connection was lost, and what arrives after all that came later.
 */
export class DelayedCopies {
  /** How many were sent. */
  sent = 0;
  readonly #socket: Socket;
  readonly #delayOf: () => number | undefined;
  /** What of each connection is no whole command yet. */
  readonly #rests = new Map<object, Buffer>();
  readonly #timers = new Set<NodeJS.Timeout>();

  private constructor(socket: Socket, delayOf: () => number | undefined) {
    this.#socket = socket;
    this.#delayOf = delayOf;
    socket.on('error', () => {});
    // The answers are nobody's.
    socket.resume();
  }

  /**
   * @param port of the server on the loopback interface
   * @param delayOf asked for each command: after how many milliseconds to send it again; `undefined`: not at all
   */
  static async start(port: number, delayOf: () => number | undefined): Promise<DelayedCopies> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return new DelayedCopies(socket, delayOf);
  }

  /** @param chunk what a connection has sent, from its first byte on */
  take(connection: object, chunk: Buffer): void {
    const before = this.#rests.get(connection);
    let rest = before ? Buffer.concat([before, chunk]) : chunk;
    for (let length = commandLength(rest); length !== undefined; length = commandLength(rest)) {
      this.#copy(rest.subarray(0, length));
      rest = rest.subarray(length);
    }
    this.#rests.set(connection, rest);
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#socket.destroy();
  }

  #copy(command: Buffer): void {
    if (!COPIED.has(nameOf(command))) return;
    const delay = this.#delayOf();
    if (delay === undefined) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.sent++;
      this.#socket.write(command);
    }, delay);
    this.#timers.add(timer);
  }
}

/** How many bytes the first command has, an array of strings in RESP; `undefined` if it is not whole. */
function commandLength(bytes: Buffer): number | undefined {
  const head = lineAt(bytes, 0);
  if (!head) return undefined;
  let at = head.end;
  for (let i = 0; i < head.number; i++) {
    const length = lineAt(bytes, at);
    if (!length) return undefined;
    at = length.end + length.number + 2;
  }
  return at <= bytes.length ? at : undefined;
}

/** A line such as `*3` or `$7`: its number, and where the next one begins. */
function lineAt(bytes: Buffer, at: number): { readonly number: number; readonly end: number } | undefined {
  const end = bytes.indexOf('\r\n', at);
  return end === -1 ? undefined : { number: Number(bytes.toString('latin1', at + 1, end)), end: end + 2 };
}

function nameOf(command: Buffer): string {
  const length = lineAt(command, command.indexOf('$'));
  return length ? command.toString('latin1', length.end, length.end + length.number).toUpperCase() : '';
}
