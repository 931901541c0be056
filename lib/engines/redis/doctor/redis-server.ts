import { randomUUID } from 'node:crypto';
import type { Cluster, Redis } from 'ioredis';
import type { Clock } from '../../../time/clock.js';
import { addressOf } from '../connection/redis-address.js';
import type { RedisConnection } from '../connection/redis-connection.js';
import { isStateRefusal } from '../../../store/redis-error-codes.js';
import type { StoreKeys } from '../../../store/keys.js';
import type { Role } from '../scripts/rights.js';
import type { ScriptRunner } from '../scripts/script-runner.js';
import type { SignalSubscriber } from '../connection/signal-subscriber.js';
import type { InspectedServer } from './inspected-server.js';
import { Questions } from './questions.js';
import { AskedNode } from './asked-node.js';

/** Most keys that are tried to find one that a reachable node of a cluster holds. */
const MAX_PROBES = 100;

export interface RedisParts {
  readonly connection: RedisConnection;
  readonly scripts: ScriptRunner;
  readonly subscriber: SignalSubscriber;
  readonly keys: StoreKeys;
  readonly clock: Clock;
  /** Role whose rights are needed; `undefined`: all roles. */
  readonly role: Role | undefined;
}

/**
 * Returns the target of a connection, to be asked about itself.
 *
 * @param patience longest time for an answer, in milliseconds
 */
export function inspectedServer(parts: RedisParts, patience: number): InspectedServer {
  const { connection, scripts, keys, clock, role } = parts;
  const { commands, address } = connection;
  const key = probeKey(parts);
  const questions = new Questions(clock, patience);
  return {
    address,
    isClusterClient: commands.isCluster,
    prefix: keys.prefix,
    isSharded: connection.isSharded(key),
    nodes: mastersOf(connection).map(
      (master) =>
        new AskedNode({
          ...master,
          prefix: keys.prefix,
          clock,
          patience,
          scriptOf: (sha) => scripts.nameOf(sha),
        }),
    ),
    role,
    refusals: () => questions.ask('the trial of all commands', () => tryCommands(parts, key)),
    echo: () => questions.ask('a signal', (signal) => awaitEcho(parts, key, signal)),
  };
}

/** Returns the masters. A client of a Cluster drops its connection to a node that is away, but still knows which slots that one has. */
function mastersOf({ commands, address, nodes }: RedisConnection): { client: Redis | undefined; address: string }[] {
  if (!commands.isCluster) return [{ client: commands as Redis, address }];
  const clients = new Map((commands as Cluster).nodes('master').map((client) => [addressOf(client.options), client]));
  const addresses = new Set([...nodes.masters.map((master) => master.address), ...clients.keys()]);
  return [...addresses].map((each) => ({ client: clients.get(each), address: each }));
}

/** Returns the key for trials: in a cluster, one held by a node that can be reached. */
export function probeKey({ connection: { nodes }, keys }: RedisParts): string {
  let count = 0;
  let key = keys.probe(count);
  while (nodes.of(key).failure && count < MAX_PROBES) key = keys.probe(++count);
  return key;
}

/**
 * Tries every command that is needed. A refusal that is only due to the server's state, such as full memory, does not
 * count.
 *
 * @param key that they are tried on
 * @param channel that the trial of signals publishes on
 * @returns the commands that were refused, with the error of Redis
 */
export async function tryCommands({ scripts }: RedisParts, key: string, channel = key): Promise<string[]> {
  const refused = (await scripts.run('probe', { key, channel }, {})) as string[];
  return refused.filter((text) => !isStateRefusal(text));
}

/**
 * @param key held by a node that can be reached
 * @param given ends the waiting when it is aborted
 * @returns milliseconds from a script's signal until it is back
 */
async function awaitEcho(parts: RedisParts, key: string, given: AbortSignal): Promise<number> {
  const { subscriber, clock } = parts;
  // A channel of its own, so that only what is sent here comes back.
  const channel = `${key}:${randomUUID()}`;
  return new Promise((resolve, reject) => {
    let sentAt = 0;
    const unsubscribe = subscriber.subscribe(channel, () => resolve(clock.now() - sentAt));
    given.addEventListener('abort', () => void unsubscribe());
    const send = async (): Promise<void> => {
      await subscriber.confirm();
      sentAt = clock.now();
      await tryCommands(parts, key, channel);
    };
    send().catch(reject);
  });
}
