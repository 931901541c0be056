import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import type { Clock } from '../../../time/clock.js';
import type { Endpoint } from './redis-address.js';

/** Most servers that are tried. */
const MAX_TRIED = 5;

/** Outcome of a connection; neither if it stayed silent. */
interface Outcome {
  readonly answer?: string;
  readonly error?: Error;
}

/**
 * Finds out why servers cannot be talked to, since ioredis loses what its connections to Sentinels and to the nodes of a
 * cluster failed with, and sees of a server that expects TLS only that it hangs up.
 *
 * @param tls options of TLS, if connections use it
 * @param patience longest time, in milliseconds
 * @returns what is wrong with the first server; `undefined` if one of them answers as it should, or nothing was found
 */
export async function diagnose(
  endpoints: readonly Endpoint[],
  tls: ConnectionOptions | undefined,
  patience: number,
  clock: Clock,
): Promise<Error | undefined> {
  // A server may be asked twice, one after the other.
  const step = patience / 2;
  const problems = await Promise.all(
    endpoints
      .slice(0, MAX_TRIED)
      .map((endpoint) => (tls ? tlsProblem(endpoint, tls, step, clock) : plainProblem(endpoint, step, clock))),
  );
  return problems.every((problem) => problem) ? problems[0] : undefined;
}

async function tlsProblem(
  endpoint: Endpoint,
  tls: ConnectionOptions,
  patience: number,
  clock: Clock,
): Promise<Error | undefined> {
  const { answer, error } = await ask(() => connectTls({ ...endpoint, ...tls }), 'secureConnect', patience, clock);
  if (answer !== undefined) return undefined;
  const plain = await ask(() => connectPlain(endpoint), 'connect', patience, clock);
  if (!isRedis(plain)) return error;
  const text =
    'the server does not speak TLS, which was asked for; give redis:// instead of rediss://, or leave tls out';
  return new Error(text, { cause: error });
}

async function plainProblem(endpoint: Endpoint, patience: number, clock: Clock): Promise<Error | undefined> {
  const plain = await ask(() => connectPlain(endpoint), 'connect', patience, clock);
  if (isRedis(plain)) return undefined;
  // Its certificate need not be trusted: nothing but PING is sent.
  const secured = await ask(
    () => connectTls({ ...endpoint, rejectUnauthorized: false }),
    'secureConnect',
    patience,
    clock,
  );
  if (secured.answer === undefined) return plain.error;
  const text = 'the server speaks TLS, which was not asked for; give rediss:// instead of redis://, or the option tls';
  return new Error(text, { cause: plain.error });
}

/** Connects, sends PING and waits for the first bytes that come. */
async function ask(connect: () => Socket, connected: string, patience: number, clock: Clock): Promise<Outcome> {
  return new Promise((resolve) => {
    let socket: Socket | undefined;
    const settle = (outcome: Outcome): void => {
      timer.cancel();
      socket?.destroy();
      resolve(outcome);
    };
    const timer = clock.setTimer(patience, () => settle({}));
    try {
      socket = connect();
    } catch (error) {
      return settle({ error: error as Error });
    }
    socket.once(connected, () => socket.write('PING\r\n'));
    socket.once('data', (data) => settle({ answer: String(data) }));
    socket.on('error', (error) => settle({ error }));
    return socket.once('close', () => settle({ error: new Error('the server closed the connection') }));
  });
}

/** Whether it is a reply of Redis, which may ask for a password. A server that speaks TLS answers with other bytes, or hangs up. */
function isRedis({ answer }: Outcome): boolean {
  return answer !== undefined && /^[+-]/.test(answer);
}
