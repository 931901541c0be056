import { describe, expect, it } from 'vitest';
import type { Broker, BrokerLink } from '../../../lib/broker/broker.interface.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { ProgressWatch, type Watched } from '../../../lib/consumer/progress-watch.js';
import { type TopicProgress, patienceOf } from '../../../lib/topics/topic-progress.js';
import { BrokerUnavailableError } from '../../../lib/errors/operation.errors.js';
import { testContext } from '../../support/units/handling.js';
import { turns } from '../../support/units/test-claimant.js';

const HEARTBEAT = 5000;
const PATIENCE = 15_000;

/** A watch of one topic with one partition; the test says since when calls hang. */
class WatchBed implements Watched {
  readonly clock = new ManualClock();
  readonly warnings: string[] = [];
  readonly rebuilt: string[] = [];
  readonly watch: ProgressWatch;
  isUp = true;
  retries = 0;
  heartbeatSince: number | undefined;
  claimSince: number | undefined;
  /** How often a confirmation that signals arrive was requested. */
  asked = 0;
  confirm: () => Promise<void> = async () => {};

  constructor() {
    const link: BrokerLink = {
      isUp: true,
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
    this.watch = new ProgressWatch(context, HEARTBEAT, this);
    this.watch.start();
  }

  get progress(): TopicProgress[] {
    return [
      {
        topic: 'jobs',
        heartbeatAt: this.clock.now(),
        unansweredSince: this.heartbeatSince,
        owned: [{ partition: 0, answeredAt: 0, unansweredSince: this.claimSince, saturated: false }],
      },
    ];
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

describe('ProgressWatch', () => {
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
    await bed.watch.signalLost();
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

  describe('where a signal was lost', () => {
    it('is content with a confirmation that signals come', async () => {
      const bed = new WatchBed();
      await bed.watch.signalLost();

      expect(bed.asked).toBe(1);
      expect(bed.rebuilt).toEqual([]);
    });

    it('makes the connection for signals anew where none comes', async () => {
      const bed = new WatchBed();
      bed.confirm = async () => new Promise(() => {});
      void bed.watch.signalLost();
      await bed.clock.advance(1999);
      expect(bed.rebuilt).toEqual([]);
      await bed.clock.advance(1);
      await turns();

      expect(bed.rebuilt).toEqual(['signals']);
      expect(bed.warnings).toEqual([
        'Signals do not come through any more, though the connection for them is up; it is made anew',
      ]);
    });

    it('leaves a connection alone that is lost', async () => {
      const bed = new WatchBed();
      bed.confirm = async () => Promise.reject(new BrokerUnavailableError('gone'));
      await bed.watch.signalLost();

      expect(bed.rebuilt).toEqual([]);
      expect(bed.warnings).toEqual([]);
    });

    it('asks once for all that are lost together, and again later', async () => {
      const bed = new WatchBed();
      await Promise.all([bed.watch.signalLost(), bed.watch.signalLost()]);
      expect(bed.asked).toBe(1);
      await bed.watch.signalLost();

      expect(bed.asked).toBe(2);
    });

    it('ends its waiting, and does nothing, once it is stopped', async () => {
      const bed = new WatchBed();
      bed.confirm = async () => new Promise(() => {});
      const asking = bed.watch.signalLost();
      await bed.watch.stop();
      await asking;

      expect(bed.rebuilt).toEqual([]);
      expect(bed.clock.nextTimerAt).toBeUndefined();
    });
  });
});
