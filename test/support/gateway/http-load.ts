import { type Socket, connect } from 'node:net';
import { once } from 'node:events';

/** A request that is sent many times, and how to make the next one from an answer. */
export interface LoadRequest {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/**
 * A connection that costs little, so that the server is what is measured: requests are written as they are, and of responses only the length
 * is looked at. The server has to answer with `Content-Length`.
 */
export class HttpConnection {
  readonly #socket: Socket;
  readonly #host: string;
  #received: Buffer = Buffer.alloc(0);
  #answered: ((answer: { status: number; body: string }) => void) | undefined;

  private constructor(socket: Socket, host: string) {
    this.#socket = socket;
    this.#host = host;
    socket.setNoDelay(true);
    socket.on('data', (chunk) => this.#read(chunk));
  }

  static async open(url: string): Promise<HttpConnection> {
    const { hostname, port, host } = new URL(url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    return new HttpConnection(socket, host);
  }

  async post({ path, headers = {}, body }: LoadRequest): Promise<{ status: number; body: string }> {
    const text = JSON.stringify(body);
    const lines = Object.entries({ host: this.#host, 'content-type': 'application/json', ...headers });
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    return new Promise((resolve) => {
      this.#answered = resolve;
      this.#socket.write(`POST ${path} HTTP/1.1\r\n${head}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const end = this.#received.indexOf('\r\n\r\n');
    if (end === -1) return;
    const head = this.#received.toString('latin1', 0, end);
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1]);
    if (this.#received.length < end + 4 + length) return;
    const body = this.#received.toString('utf8', end + 4, end + 4 + length);
    this.#received = this.#received.subarray(end + 4 + length);
    this.#answered?.({ status: Number(head.slice(9, 12)), body });
  }
}

/** Runs `work` on several connections until the time is over; returns how often it was done a second. */
export async function rateOf(
  url: string,
  { connections, seconds }: { connections: number; seconds: number },
  work: (connection: HttpConnection) => Promise<number>,
): Promise<number> {
  const open = await Promise.all(Array.from({ length: connections }, async () => HttpConnection.open(url)));
  const begun = performance.now();
  let done = 0;
  await Promise.all(
    open.map(async (connection) => {
      while (performance.now() - begun < seconds * 1000) {
        const more = await work(connection);
        done += more;
      }
    }),
  );
  const rate = done / ((performance.now() - begun) / 1000);
  for (const connection of open) connection.close();
  return rate;
}
