import { describe, expect, it } from 'vitest';
import type { EventEntry } from '../../../lib/store/records/event-log.interface.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { BrokerUnavailableError } from '../../../lib/errors/operation.errors.js';
import type { BackgroundError } from '../../../lib/events/queue-events.interface.js';
import { FleetPublisher } from '../../../lib/events/fleet-publisher.js';
import { turns } from '../../support/units/test-claimant.js';

const EVENT = { topic: 'jobs', partition: 0, id: 'a', key: 'a', attempt: 1, duration: 1 };

/** A publisher whose entries are taken, or refused, as the test says. */
class PublisherBed {
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
    const bed = new PublisherBed();
    bed.add(250);
    expect(bed.calls).toBe(0);
    await turns(4);
    bed.add(1);
    await turns();

    expect(bed.counts).toEqual([
      [1, 200, 0],
      [2, 50, 0],
      [3, 1, 0],
    ]);
    expect(bed.errors).toEqual([]);
  });

  it('keeps events while Redis cannot be reached, and sends the same entry again', async () => {
    const bed = new PublisherBed();
    bed.answer = () => Promise.reject(new BrokerUnavailableError('away'));
    bed.add(2);
    await turns();
    bed.add(3);
    await bed.clock.advance(1000);
    bed.answer = async () => {};
    await bed.clock.advance(1000);
    await turns();

    expect(bed.counts).toEqual([
      [1, 2, 0],
      [2, 3, 0],
    ]);
    expect(bed.errors.length).toBeGreaterThan(3);
    expect(new Set(bed.errors.map(({ source }) => source))).toEqual(new Set(['fleet']));
    expect(bed.warnings).toEqual(['Events for the fleet wait or are dropped: away']);
  });

  it('drops what is beyond 10,000, and says how many with the next entry and in an error', async () => {
    const bed = new PublisherBed();
    bed.answer = () => Promise.reject(new BrokerUnavailableError('away'));
    bed.add(10_007);
    await turns();
    bed.answer = async () => {};
    await bed.clock.advance(1000);
    await turns(10);

    expect(bed.counts).toHaveLength(50);
    expect(bed.counts.map(([, , dropped]) => dropped).reduce((sum, dropped) => sum + dropped)).toBe(7);
    expect(bed.counts.reduce((sum, [, count]) => sum + count, 0)).toBe(10_000);
    const reports = bed.errors.filter(({ error }) => (error as { code: string }).code === 'EVENTS_DROPPED');
    expect(reports).toEqual([{ source: 'fleet', error: expect.objectContaining({ dropped: 7 }) }]);
  });

  it('drops what Redis refuses, and goes on', async () => {
    const bed = new PublisherBed();
    bed.answer = () => Promise.reject(new BrokerUnavailableError('denied', { transient: false }));
    bed.add(4);
    await turns();
    expect(bed.calls).toBe(1);
    bed.answer = async () => {};
    bed.add(1);
    await turns();

    expect(bed.counts).toEqual([[2, 1, 4]]);
    expect(bed.warnings).toEqual([
      'Events for the fleet wait or are dropped: denied',
      '4 events of this process did not reach the fleet. Those who read them see a gap.',
    ]);
  });

  it('sends what waits before it stops, and takes nothing afterwards', async () => {
    const bed = new PublisherBed();
    bed.add(3);
    await bed.publisher.stop();
    bed.add(1);
    await turns();
    expect(bed.counts).toEqual([[1, 3, 0]]);
    expect(bed.clock.nextTimerAt).toBeUndefined();
  });

  it('stops within half a second, though Redis cannot be reached, and says what was dropped', async () => {
    const bed = new PublisherBed();
    bed.answer = () => new Promise(() => {});
    bed.add(3);
    await turns();
    const stopping = bed.publisher.stop();
    await bed.clock.advance(500);
    await stopping;
    expect(bed.errors).toEqual([{ source: 'fleet', error: expect.objectContaining({ dropped: 3 }) }]);
  });
});
