import { describe, expect, it } from 'vitest';
import type { Broker, BrokerLink } from '../../../lib/broker/broker.interface.js';
import { ManualClock } from '../../../lib/time/manual-clock.js';
import { ProgressWatch } from '../../../lib/consumer/progress-watch.js';
import { patienceOf } from '../../../lib/topics/progress.js';
import { BrokerUnavailableError } from '../../../lib/errors/broker-unavailable.error.js';
import { turns } from './support/test-claimant.js';

const HEARTBEAT = 5000;
const PATIENCE = 15_000;

/** A watch of one topic with one partition; the test says since when calls hang. */
class WatchBench {
  readonly clock = new ManualClock();
  readonly warnings: string[] = [];
  readonly rebuilt: string[] = [];
  readonly watch: ProgressWatch;
  isUp = true;
  retries = 0;
  heartbeatSince: number | undefined;
  claimSince: number | undefined;
  /** Asked for confirmations that signals come. */
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
    this.watch = new ProgressWatch({
      context: {
        broker: broker as Broker,
        clock: this.clock,
        log: { log: () => {}, warn: (message) => this.warnings.push(message), error: () => {} },
        events: { wants: () => false, emit: () => {} },
        member: 'me',
      },
      heartbeat: HEARTBEAT,
      progress: () => [
        {
          topic: 'jobs',
          heartbeatAt: this.clock.now(),
          unansweredSince: this.heartbeatSince,
          owned: [{ partition: 0, answeredAt: 0, unansweredSince: this.claimSince, saturated: false }],
        },
      ],
      retryClaims: () => this.retries++,
    });
    this.watch.start();
  }
}

describe('patienceOf', () => {
  it('is three heartbeats, a second at least', () => {
    expect([100, 400, HEARTBEAT].map(patienceOf)).toEqual([1000, 1200, PATIENCE]);
  });
});

describe('ProgressWatch', () => {
  it.each(['claimSince', 'heartbeatSince'] as const)(
    'makes the connection anew and has claims sent again where nothing is answered: %s',
    async (call) => {
      const bench = new WatchBench();
      bench[call] = bench.clock.now();
      await bench.clock.advance(PATIENCE);
      expect(bench.rebuilt).toEqual([]);
      await bench.clock.advance(PATIENCE);

      expect(bench.rebuilt).toEqual(['calls']);
      expect(bench.retries).toBe(1);
      expect(bench.warnings).toEqual([
        'Redis has not answered for 25000 ms, though the connection is up; it is made anew',
      ]);
    },
  );

  it('does so once, where that does not help', async () => {
    const bench = new WatchBench();
    bench.claimSince = bench.clock.now();
    await bench.clock.advance(20 * PATIENCE);

    expect(bench.rebuilt).toEqual(['calls']);
  });

  it('does so again for a call that was sent since', async () => {
    const bench = new WatchBench();
    bench.claimSince = bench.clock.now();
    await bench.clock.advance(2 * PATIENCE);
    bench.claimSince = bench.clock.now();
    await bench.clock.advance(2 * PATIENCE);

    expect(bench.rebuilt).toEqual(['calls', 'calls']);
  });

  it('lets answers be read that came while the event loop was blocked', async () => {
    const bench = new WatchBench();
    bench.claimSince = bench.clock.now() - 10 * PATIENCE;
    await bench.clock.advance(HEARTBEAT);
    bench.claimSince = undefined;
    await bench.clock.advance(10 * PATIENCE);

    expect(bench.rebuilt).toEqual([]);
  });

  it('leaves a connection alone that is being made already', async () => {
    const bench = new WatchBench();
    bench.isUp = false;
    bench.claimSince = bench.clock.now();
    await bench.clock.advance(10 * PATIENCE);

    expect(bench.rebuilt).toEqual([]);
    expect(bench.warnings).toEqual([]);
  });

  it('looks no more once it is stopped', async () => {
    const bench = new WatchBench();
    bench.claimSince = bench.clock.now();
    await bench.clock.advance(PATIENCE);
    bench.watch.stop();

    expect(bench.clock.nextTimerAt).toBeUndefined();
    bench.watch.start();
    await bench.watch.signalLost();
    expect(bench.clock.nextTimerAt).toBeUndefined();
    expect(bench.asked).toBe(0);
  });

  describe('at boot', () => {
    it('lets a right to listen that is missing fail it', async () => {
      const bench = new WatchBench();
      const denied = new BrokerUnavailableError('denied', { transient: false });
      bench.confirm = async () => Promise.reject(denied);

      await expect(bench.watch.assertListening()).rejects.toBe(denied);
    });

    it('goes on where signals stay away for another reason', async () => {
      const bench = new WatchBench();
      bench.confirm = async () => Promise.reject(new BrokerUnavailableError('gone'));
      await bench.watch.assertListening();
      bench.confirm = async () => new Promise(() => {});
      const waiting = bench.watch.assertListening();
      await bench.clock.advance(2000);
      await waiting;

      expect(bench.rebuilt).toEqual([]);
    });
  });

  describe('where a signal was lost', () => {
    it('is content with a confirmation that signals come', async () => {
      const bench = new WatchBench();
      await bench.watch.signalLost();

      expect(bench.asked).toBe(1);
      expect(bench.rebuilt).toEqual([]);
    });

    it('makes the connection for signals anew where none comes', async () => {
      const bench = new WatchBench();
      bench.confirm = async () => new Promise(() => {});
      void bench.watch.signalLost();
      await bench.clock.advance(1999);
      expect(bench.rebuilt).toEqual([]);
      await bench.clock.advance(1);
      await turns();

      expect(bench.rebuilt).toEqual(['signals']);
      expect(bench.warnings).toEqual([
        'Signals do not come through any more, though the connection for them is up; it is made anew',
      ]);
    });

    it('leaves a connection alone that is lost', async () => {
      const bench = new WatchBench();
      bench.confirm = async () => Promise.reject(new BrokerUnavailableError('gone'));
      await bench.watch.signalLost();

      expect(bench.rebuilt).toEqual([]);
      expect(bench.warnings).toEqual([]);
    });

    it('asks once for all that are lost together, and again later', async () => {
      const bench = new WatchBench();
      await Promise.all([bench.watch.signalLost(), bench.watch.signalLost()]);
      expect(bench.asked).toBe(1);
      await bench.watch.signalLost();

      expect(bench.asked).toBe(2);
    });

    it('ends its waiting, and does nothing, once it is stopped', async () => {
      const bench = new WatchBench();
      bench.confirm = async () => new Promise(() => {});
      const asking = bench.watch.signalLost();
      bench.watch.stop();
      await asking;

      expect(bench.rebuilt).toEqual([]);
      expect(bench.clock.nextTimerAt).toBeUndefined();
    });
  });
});
