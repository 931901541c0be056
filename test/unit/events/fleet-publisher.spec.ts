import { describe, expect, it } from 'vitest';
import type { EventEntry } from '../../../lib/broker/broker.interface.js';
import { ManualClock } from '../../../lib/time/manual-clock.js';
import { BrokerUnavailableError } from '../../../lib/errors/broker-unavailable.error.js';
import type { BackgroundError } from '../../../lib/events/background-error.js';
import { FleetPublisher } from '../../../lib/events/fleet-publisher.js';
import { turns } from '../consumer/support/test-claimant.js';

const EVENT = { topic: 'jobs', partition: 0, id: 'a', key: 'a', attempt: 1, duration: 1 };

/** A publisher whose entries are taken, or refused, as the test says. */
class PublisherBench {
  readonly clock = new ManualClock();
  readonly taken: EventEntry[] = [];
  readonly errors: BackgroundError[] = [];
  readonly warnings: string[] = [];
  answer: () => Promise<void> = async () => {};
  calls = 0;
  readonly publisher = new FleetPublisher({
    log: { log: () => {}, warn: (line) => void this.warnings.push(line), error: () => {} },
    clock: this.clock,
    events: { wants: () => true, emit: (_kind, event) => void this.errors.push(event as BackgroundError) },
    eventLog: {
      append: async (entry) => {
        this.calls++;
        await this.answer();
        this.taken.push(entry);
      },
      follow: () => async () => {},
    },
    now: () => this.clock.now(),
    process: 'me',
    maxLength: 1000,
  });

  add(times: number): void {
    for (let i = 0; i < times; i++) this.publisher.add('acked', EVENT);
  }

  get counts(): [sequence: number, count: number, dropped: number][] {
    return this.taken.map(({ sequence, count, dropped }) => [sequence, count, dropped]);
  }
}

describe('FleetPublisher', () => {
  it('sends the events of a turn of the event loop together, at most 200 in a call', async () => {
    const bench = new PublisherBench();
    bench.add(250);
    expect(bench.calls).toBe(0);
    await turns(4);
    bench.add(1);
    await turns();

    expect(bench.counts).toEqual([
      [1, 200, 0],
      [2, 50, 0],
      [3, 1, 0],
    ]);
    expect(bench.errors).toEqual([]);
  });

  it('keeps events while Redis cannot be reached, and sends the same entry again', async () => {
    const bench = new PublisherBench();
    bench.answer = () => Promise.reject(new BrokerUnavailableError('away'));
    bench.add(2);
    await turns();
    bench.add(3);
    await bench.clock.advance(1000);
    bench.answer = async () => {};
    await bench.clock.advance(1000);
    await turns();

    expect(bench.counts).toEqual([
      [1, 2, 0],
      [2, 3, 0],
    ]);
    expect(bench.errors.length).toBeGreaterThan(3);
    expect(new Set(bench.errors.map(({ source }) => source))).toEqual(new Set(['fleet']));
    expect(bench.warnings).toEqual(['Events for the fleet wait or are dropped: away']);
  });

  it('drops what is beyond 10,000, and says how many with the next entry and in an error', async () => {
    const bench = new PublisherBench();
    bench.answer = () => Promise.reject(new BrokerUnavailableError('away'));
    bench.add(10_007);
    await turns();
    bench.answer = async () => {};
    await bench.clock.advance(1000);
    await turns(10);

    expect(bench.counts).toHaveLength(50);
    expect(bench.counts.map(([, , dropped]) => dropped).reduce((sum, dropped) => sum + dropped)).toBe(7);
    expect(bench.counts.reduce((sum, [, count]) => sum + count, 0)).toBe(10_000);
    const reports = bench.errors.filter(({ error }) => (error as { code: string }).code === 'EVENTS_DROPPED');
    expect(reports).toEqual([{ source: 'fleet', error: expect.objectContaining({ dropped: 7 }) }]);
  });

  it('drops what Redis refuses, and goes on', async () => {
    const bench = new PublisherBench();
    bench.answer = () => Promise.reject(new BrokerUnavailableError('denied', { transient: false }));
    bench.add(4);
    await turns();
    expect(bench.calls).toBe(1);
    bench.answer = async () => {};
    bench.add(1);
    await turns();

    expect(bench.counts).toEqual([[2, 1, 4]]);
    expect(bench.warnings).toEqual([
      'Events for the fleet wait or are dropped: denied',
      '4 events of this process did not reach the fleet. Those who read them see a gap.',
    ]);
  });

  it('sends what waits before it stops, and takes nothing afterwards', async () => {
    const bench = new PublisherBench();
    bench.add(3);
    await bench.publisher.stop();
    bench.add(1);
    await turns();
    expect(bench.counts).toEqual([[1, 3, 0]]);
    expect(bench.clock.nextTimerAt).toBeUndefined();
  });

  it('stops within half a second, though Redis cannot be reached, and says what was dropped', async () => {
    const bench = new PublisherBench();
    bench.answer = () => new Promise(() => {});
    bench.add(3);
    await turns();
    const stopping = bench.publisher.stop();
    await bench.clock.advance(500);
    await stopping;
    expect(bench.errors).toEqual([{ source: 'fleet', error: expect.objectContaining({ dropped: 3 }) }]);
  });
});
