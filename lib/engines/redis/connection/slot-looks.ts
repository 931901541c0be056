import type { Cluster } from 'ioredis';
import type { Clock, Timer } from '../../../time/clock.js';
import type { RedisClient } from './redis-clients.js';

/** Time from one look at the slots of a cluster to the next, in milliseconds. */
const BETWEEN_LOOKS = 250;

/**
 * Times after a look at which it looks again, in milliseconds. A look asks one node, which may not know yet what another one has said:
 * a sharded subscription that ended since its slot has moved would not come back, as ioredis goes by that one look.
 */
const LOOKS_AGAIN = [1000, 10_000];

type Callback = Parameters<Cluster['refreshSlotsCache']>[0];

/**
 * Makes a cluster's client look at the slots a few times a second at most. ioredis looks whenever a node cannot be reached, and for signals
 * it then tries that node again at once, and so on: while a node is away, a process would have time for little else.
 */
export function lookSparingly(client: RedisClient, clock: Clock): void {
  if (!client.isCluster) return;
  const cluster = client as Cluster;
  const refresh = cluster.refreshSlotsCache.bind(cluster);
  const waiting = new Set<NonNullable<Callback>>();
  let lookedAt = -Infinity;
  let timer: Timer | undefined;
  let again: Timer | undefined;

  const lookAgain = ([wait, ...more]: readonly number[]): void => {
    again?.cancel();
    again = undefined;
    if (wait === undefined) return;
    again = clock.setTimer(wait, () => {
      refresh();
      lookAgain(more);
    });
  };
  const look = (): void => {
    timer = undefined;
    lookedAt = clock.now();
    const callbacks = [...waiting];
    waiting.clear();
    refresh((error) => {
      for (const callback of callbacks) callback(error);
    });
    lookAgain(LOOKS_AGAIN);
  };
  cluster.refreshSlotsCache = (callback) => {
    // A client that connects looks once, and its calls wait for that.
    if (cluster.status !== 'ready') {
      refresh(callback);
      return;
    }
    if (callback) waiting.add(callback);
    timer ??= clock.setTimer(lookedAt + BETWEEN_LOOKS - clock.now(), look);
  };
  cluster.on('close', () => {
    timer?.cancel();
    timer = undefined;
    lookAgain([]);
    waiting.clear();
  });
}
