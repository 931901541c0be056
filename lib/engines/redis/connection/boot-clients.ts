import type { EventEmitter } from 'node:events';
import type { Redis } from 'ioredis';
import { isError } from '../../../checks/kinds.js';
import { BrokerUnavailableError } from '../../../errors/operation.errors.js';
import { ConfigurationError } from '../../../errors/options.errors.js';
import type { Clock } from '../../../time/clock.js';
import { TimeUp, within } from '../../../time/deadline.js';
import { MIN_VERSION } from './server-info.js';
import { clientEndpoints, isLocal } from './redis-address.js';
import { type RedisClient, assertFollowsSlots } from './redis-clients.js';
import { isRefusedDatabase, textOf, withoutSecrets } from './redis-errors.js';
import { isReply } from '../../../store/redis-error-codes.js';
import type { RedisNodes } from './redis-nodes.js';

export interface BootOptions {
  readonly commands: RedisClient;
  readonly subscriber: RedisClient;
  readonly nodes: RedisNodes;
  /** Host and port, for messages. */
  readonly address: string;
  /** Longest time until both are connected, in milliseconds. */
  readonly timeout: number;
  readonly clock: Clock;
  /** Looks at the servers of a connection that gives no answer; called when half of the time is over. */
  readonly look: () => Promise<Error | undefined>;
  /** Returns the error that the connections failed with. */
  readonly explain: () => Promise<Error | undefined>;
}

/**
 * Connects both clients, and looks at the servers' version and at what they can do. Nodes of a cluster that do not answer do not
 * matter. Its errors may be read by somebody who runs this for the first time, so they say what to do.
 *
 * @throws BrokerUnavailableError, ConfigurationError; the server's own error if it answered with one
 */
export async function bootClients(options: BootOptions): Promise<void> {
  const { clock, timeout, look, explain } = options;
  let hint: Promise<Error | undefined> | undefined;
  const timer = clock.setTimer(timeout / 2, () => (hint = look()));
  try {
    await within(clock, timeout, connect(options));
  } catch (error) {
    const cause = error instanceof ConfigurationError ? error : ((await (hint ?? explain())) ?? error);
    throw bootError(options, cause, error instanceof TimeUp);
  } finally {
    timer.cancel();
  }
}

async function connect({ commands, subscriber, nodes, address }: BootOptions): Promise<void> {
  await Promise.all([commands, subscriber].map(connected));
  assertFollowsSlots(commands);
  await nodes.askPatiently();
  const old = nodes.masters.find(({ info }) => info?.isTooOld)?.info;
  if (old) {
    throw new ConfigurationError(
      `Redis at ${address} is version ${old.version.join('.')}; at least ${MIN_VERSION.join('.')} is needed.`,
    );
  }
}

/** Resolves once a client is connected; a command of the application may have made it connect already. */
async function connected(client: RedisClient): Promise<void> {
  if (client.status === 'ready') return undefined;
  const emitter: EventEmitter = client;
  return new Promise((resolve, reject) => {
    emitter.once('ready', resolve);
    if (client.status === 'wait') client.connect().then(resolve, reject);
    else emitter.once('close', () => reject(new Error('the connection was closed')));
  });
}

function bootError({ commands, address, timeout }: BootOptions, cause: unknown, isTimeUp: boolean): unknown {
  if (cause instanceof ConfigurationError) return cause;
  if (isRefusedDatabase(cause)) {
    return new ConfigurationError(`Redis at ${address}: ${textOf(withoutSecrets(cause))}.`, { cause });
  }
  if (isReply(cause)) return cause;
  const what = isTimeUp ? `gave no answer within ${timeout} ms` : 'cannot be reached';
  const why = cause instanceof TimeUp ? '' : `: ${textOf(withoutSecrets(cause))}`;
  return new BrokerUnavailableError(`Redis at ${address} ${what}${why}. ${whatToDo(commands, cause)}`, { cause });
}

function whatToDo(client: RedisClient, cause: unknown): string {
  const [endpoint] = clientEndpoints(client);
  const where = "Its address is set by the option 'redis' of DelayQueueModule.forRoot() or createDelayQueueAdmin().";
  const isAbsent = isError(cause) && 'code' in cause && cause.code === 'ECONNREFUSED';
  if (!isAbsent || client.isCluster || (client as Redis).options.sentinels || !endpoint || !isLocal(endpoint))
    return where;
  return `${where} To start a Redis there: docker run --rm -p ${endpoint.port}:6379 redis:8, or redis-server --port ${endpoint.port}.`;
}
