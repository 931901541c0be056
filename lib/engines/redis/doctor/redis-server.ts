import { randomUUID } from 'node:crypto';
import type { Cluster, Redis } from 'ioredis';
import type { Clock } from '../../../time/clock.js';
import { addressOf } from '../connection/redis-address.js';
import type { RedisConnection } from '../connection/redis-connection.js';
import { isStateRefusal } from '../../../store/reply-errors.js';
import type { StoreKeys } from '../../../store/keys.js';
import type { Role } from '../scripts/rights.js';
import type { ScriptRunner } from '../scripts/script-runner.js';
import type { SignalSubscriber } from '../connection/signal-subscriber.js';
import type { InspectedServer } from './inspected-server.js';
import { Questions } from './questions.js';
import { AskedNode } from './asked-node.js';

/** How many keys are tried to find one that a reachable node of a cluster holds. */
const MAX_PROBES = 100;

export interface RedisParts {
  readonly connection: RedisConnection;
  readonly scripts: ScriptRunner;
  readonly subscriber: SignalSubscriber;
  readonly keys: StoreKeys;
  readonly clock: Clock;
  /** Whose rights are needed; `undefined`: all that there are. */
  readonly role: Role | undefined;
}

/**
 * What a connection leads to, to be asked about itself.
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

/** A client of a Cluster drops its connection to a node that is away, and still knows which slots that one has. */
function mastersOf({ commands, address, nodes }: RedisConnection): { client: Redis | undefined; address: string }[] {
  if (!commands.isCluster) return [{ client: commands as Redis, address }];
  const clients = new Map((commands as Cluster).nodes('master').map((client) => [addressOf(client.options), client]));
  const addresses = new Set([...nodes.masters.map((master) => master.address), ...clients.keys()]);
  return [...addresses].map((each) => ({ client: clients.get(each), address: each }));
}

/** The key that trials use: of a cluster, one that a node holds which can be reached. */
export function probeKey({ connection: { nodes }, keys }: RedisParts): string {
  let count = 0;
  let key = keys.probe(count);
  while (nodes.of(key).failure && count < MAX_PROBES) key = keys.probe(++count);
  return key;
}

/**
 * Tries every command that is needed. What a server only refuses for the state that it is in, such as full memory, does not
 * count.
 *
 * @param key that they are tried on
 * @param channel that the trial of signals publishes on
 * @returns the commands that were refused, with what Redis said
 */
export async function tryCommands({ scripts }: RedisParts, key: string, channel = key): Promise<string[]> {
  const refused = (await scripts.run('probe', { key, channel }, {})) as string[];
  return refused.filter((text) => !isStateRefusal(text));
}

/**
 * @param key that a node holds which can be reached
 * @param given ends the waiting when it is aborted
 * @returns milliseconds from a script's signal until it is back
 */
async function awaitEcho(parts: RedisParts, key: string, given: AbortSignal): Promise<number> {
  const { subscriber, clock } = parts;
  // Of its own, so that nothing comes back but what is sent here.
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
