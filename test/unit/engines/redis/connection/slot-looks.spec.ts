import { EventEmitter } from 'node:events';
import { beforeEach, describe, expect, it } from 'vitest';
import type { RedisClient } from '../../../../../lib/engines/redis/connection/redis-clients.js';
import { lookSparingly } from '../../../../../lib/engines/redis/connection/slot-looks.js';
import { ManualClock } from '../../../../../lib/testing/manual-clock.js';

type Callback = (error?: Error) => void;

/** The parts of a cluster's client that are used here; it notes when it asks a node for the slots. */
class ClusterClient extends EventEmitter {
  readonly isCluster = true;
  readonly looks: number[] = [];
  status = 'ready';
  readonly #clock: ManualClock;

  constructor(clock: ManualClock) {
    super();
    this.#clock = clock;
  }

  refreshSlotsCache(callback?: Callback): void {
    this.looks.push(this.#clock.now());
    callback?.();
  }
}

describe('looks at the slots of a cluster', () => {
  let clock: ManualClock;
  let client: ClusterClient;
  beforeEach(() => {
    clock = new ManualClock(0);
    client = new ClusterClient(clock);
    lookSparingly(client as unknown as RedisClient, clock);
  });

  it('are made at once, and four times a second at most, whatever asks for them', async () => {
    let answered = 0;
    for (let i = 0; i < 99; i++) {
      client.refreshSlotsCache(() => answered++);
      await clock.advance(10);
    }

    expect(client.looks).toEqual([0, 250, 500, 750]);
    expect(answered).toBeGreaterThanOrEqual(75);
  });

  it('are made twice again, since the node that was asked may not have heard yet', async () => {
    client.refreshSlotsCache();
    await clock.advance(60_000);

    expect(client.looks).toEqual([0, 1000, 11_000]);
  });

  it('are made again after the last of several', async () => {
    client.refreshSlotsCache();
    await clock.advance(900);
    client.refreshSlotsCache();
    await clock.advance(60_000);

    expect(client.looks).toEqual([0, 900, 1900, 11_900]);
  });

  it('end with the connection', async () => {
    client.refreshSlotsCache();
    await clock.advance(500);
    client.refreshSlotsCache();
    client.emit('close');
    await clock.advance(60_000);

    expect(client.looks).toEqual([0]);
    expect(clock.nextTimerAt).toBeUndefined();
  });

  it('are left to a client that connects', () => {
    client.status = 'connecting';
    for (let i = 0; i < 3; i++) client.refreshSlotsCache();

    expect(client.looks).toEqual([0, 0, 0]);
    expect(clock.nextTimerAt).toBeUndefined();
  });
});
