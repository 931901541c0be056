import { describe, expect, it } from 'vitest';
import type { Broker, BrokerLink } from '../../../../lib/store/broker.interface.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { DeadConnectionWatch, type Watched } from '../../../../lib/consumer/upkeep/dead-connection-watch.js';
import { type Progress, patienceOf } from '../../../../lib/fleet/progress.js';
import { BrokerUnavailableError } from '../../../../lib/errors/operation.errors.js';
import { testContext } from '../../../support/units/handling.js';

const HEARTBEAT = 5000;
const PATIENCE = 15_000;

/** A watch of one topic with two partitions; the test says since when calls hang, and when others were answered. */
class WatchBed implements Watched {
  readonly clock = new ManualClock();
  readonly warnings: string[] = [];
  readonly rebuilt: string[] = [];
  readonly watch: DeadConnectionWatch;
  isUp = true;
  retries = 0;
  heartbeatSince: number | undefined;
  claimSince: number | undefined;
  renewedAt = 0;
  /** When the latest claim that was answered was sent, of each partition. */
  answeredAt = [0, 0];
  /** How many partitions it has beside the one with the claim. */
  others = 1;
  /** How often a confirmation that signals arrive was requested. */
  asked = 0;
  confirm: () => Promise<void> = async () => {};

  constructor() {
    const link: BrokerLink = {
      isUp: true,
      unreachable: [],
      ping: async () => {},
      listen: async () => {
        this.asked++;
        return this.confirm();
      },
      rebuild: (connection) => this.rebuilt.push(connection),
    };
    Object.defineProperty(link, 'isUp', { get: () => this.isUp });
    const broker: Pick<Broker, 'link'> = { link };
    const context = testContext({
      broker: broker as Broker,
      clock: this.clock,
      log: { log: () => {}, warn: (message) => this.warnings.push(message), error: () => {} },
    });
    this.watch = new DeadConnectionWatch(context, HEARTBEAT, this);
    this.watch.start();
  }

  get progress(): Progress {
    const owned = [this.claimSince, ...Array<undefined>(this.others).fill(undefined)].map(
      (unansweredSince, partition) => {
        return {
          partition,
          answeredAt: this.answeredAt[partition] ?? 0,
          unansweredSince,
          failedAt: undefined,
          saturated: false,
          limited: false,
        };
      },
    );
    return {
      renewedAt: this.renewedAt,
      failedAt: undefined,
      unansweredSince: this.heartbeatSince,
      topics: [
        {
          topic: 'jobs',
          stopped: false,
          owned,
          handling: 0,
          abandoned: 0,
          limitedSince: undefined,
          starvedSince: undefined,
        },
      ],
    };
  }

  retryClaims(): void {
    this.retries++;
  }
}

describe('patienceOf', () => {
  it('is three heartbeats, at least a second', () => {
    expect([100, 400, HEARTBEAT].map(patienceOf)).toEqual([1000, 1200, PATIENCE]);
  });
});

describe('DeadConnectionWatch', () => {
  it.each(['claimSince', 'heartbeatSince'] as const)(
    'makes the connection anew and lets claims be sent again if nothing is answered: %s',
    async (call) => {
      const bed = new WatchBed();
      bed[call] = bed.clock.now();
      await bed.clock.advance(PATIENCE);
      expect(bed.rebuilt).toEqual([]);
      await bed.clock.advance(PATIENCE);

      expect(bed.rebuilt).toEqual(['calls']);
      expect(bed.retries).toBe(1);
      expect(bed.warnings).toEqual([
        'Redis has not answered for 25000 ms, though the connection is up; it is made anew',
      ]);
    },
  );

  it('does so however many partitions it has', async () => {
    const bed = new WatchBed();
    bed.others = 200_000;
    bed.claimSince = bed.clock.now();
    await bed.clock.advance(PATIENCE * 2);
    expect(bed.rebuilt).toEqual(['calls']);
  });

  it('does so once, where that does not help', async () => {
    const bed = new WatchBed();
    bed.claimSince = bed.clock.now();
    await bed.clock.advance(20 * PATIENCE);

    expect(bed.rebuilt).toEqual(['calls']);
  });

  it('does so again for a call that was sent since', async () => {
    const bed = new WatchBed();
    bed.claimSince = bed.clock.now();
    await bed.clock.advance(2 * PATIENCE);
    bed.claimSince = bed.clock.now();
    await bed.clock.advance(2 * PATIENCE);

    expect(bed.rebuilt).toEqual(['calls', 'calls']);
  });

  it.each<{ what: string; answer: (bed: WatchBed, at: number) => void }>([
    { what: 'another partition', answer: ({ answeredAt }, at) => (answeredAt[1] = at) },
    { what: 'the session', answer: (bed, at) => (bed.renewedAt = at) },
  ])('leaves the connection alone while $what is answered: one server of several is away', async ({ answer }) => {
    const bed = new WatchBed();
    bed.claimSince = bed.clock.now();
    for (let i = 0; i < 20; i++) {
      answer(bed, bed.clock.now());
      await bed.clock.advance(HEARTBEAT);
    }
    expect(bed.rebuilt).toEqual([]);

    // What is sent after the latest answer counts.
    bed.heartbeatSince = bed.clock.now();
    await bed.clock.advance(2 * PATIENCE);
    expect(bed.rebuilt).toEqual(['calls']);
    expect(bed.warnings).toEqual(['Redis has not answered for 25000 ms, though the connection is up; it is made anew']);
  });

  it('lets answers be read that came while the event loop was blocked', async () => {
    const bed = new WatchBed();
    bed.claimSince = bed.clock.now() - 10 * PATIENCE;
    await bed.clock.advance(HEARTBEAT);
    bed.claimSince = undefined;
    await bed.clock.advance(10 * PATIENCE);

    expect(bed.rebuilt).toEqual([]);
  });

  it('leaves a connection alone that is being made already', async () => {
    const bed = new WatchBed();
    bed.isUp = false;
    bed.claimSince = bed.clock.now();
    await bed.clock.advance(10 * PATIENCE);

    expect(bed.rebuilt).toEqual([]);
    expect(bed.warnings).toEqual([]);
  });

  it('looks no more once it is stopped', async () => {
    const bed = new WatchBed();
    bed.claimSince = bed.clock.now();
    await bed.clock.advance(PATIENCE);
    await bed.watch.stop();

    expect(bed.clock.nextTimerAt).toBeUndefined();
    bed.watch.start();
    expect(bed.clock.nextTimerAt).toBeUndefined();
    expect(bed.asked).toBe(0);
  });

  describe('at boot', () => {
    it('lets a right to listen that is missing fail it', async () => {
      const bed = new WatchBed();
      const denied = new BrokerUnavailableError('denied', { transient: false });
      bed.confirm = async () => Promise.reject(denied);

      await expect(bed.watch.assertListening()).rejects.toBe(denied);
    });

    it('goes on where signals stay away for another reason', async () => {
      const bed = new WatchBed();
      bed.confirm = async () => Promise.reject(new BrokerUnavailableError('gone'));
      await bed.watch.assertListening();
      bed.confirm = async () => new Promise(() => {});
      const waiting = bed.watch.assertListening();
      await bed.clock.advance(2000);
      await waiting;

      expect(bed.rebuilt).toEqual([]);
    });
  });

  it('ends its waiting for signals once it is stopped', async () => {
    const bed = new WatchBed();
    bed.confirm = async () => new Promise(() => {});
    const asking = bed.watch.assertListening();
    await bed.watch.stop();
    await asking;

    expect(bed.clock.nextTimerAt).toBeUndefined();
  });
});
