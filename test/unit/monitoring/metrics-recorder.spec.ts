import { Subject } from 'rxjs';
import { describe, expect, it } from 'vitest';
import type { QueueEvents } from '../../../lib/events/queue-events.interface.js';
import { toFailure } from '../../../lib/messages/failure.js';
import type { MetricsReader } from '../../../lib/monitoring/metrics-reader.js';
import { MetricsRecorder } from '../../../lib/monitoring/metrics-recorder.js';
import { recordedMetrics } from '../../support/units/recorded-metrics.js';

const DELIVERY = { topic: 'jobs', partition: 0, id: 'a', key: 'a', attempt: 1 };
const ENDED = { ...DELIVERY, duration: 100 };

function setUp() {
  const events = {
    delivered: new Subject<QueueEvents['delivered']>(),
    acked: new Subject<QueueEvents['acked']>(),
    retried: new Subject<QueueEvents['retried']>(),
    dead: new Subject<QueueEvents['dead']>(),
    cancelled: new Subject<QueueEvents['cancelled']>(),
    replaced: new Subject<QueueEvents['replaced']>(),
    released: new Subject<QueueEvents['released']>(),
    stale: new Subject<QueueEvents['stale']>(),
    missed: new Subject<QueueEvents['missed']>(),
    errors: new Subject<QueueEvents['errors']>(),
  };
  const reading = { up: true, clockOffset: 0, topics: [] };
  const reader = { read: async () => reading } as unknown as MetricsReader;
  const { metrics, told, opened } = recordedMetrics();
  return {
    events,
    reading,
    told,
    opened,
    recorder: new MetricsRecorder({ metrics, connection: 'main', events, reader }),
  };
}

describe('MetricsRecorder', () => {
  it('records the outcomes of deliveries, with times in seconds', () => {
    const { events, told, recorder } = setUp();
    recorder.start();
    events.delivered.next({ ...DELIVERY, lateness: 1500 });
    events.acked.next({ ...ENDED, duration: 250 });
    events.retried.next({ ...ENDED, delay: 10, error: new Error('again') });
    events.dead.next({ ...ENDED, failure: toFailure('failed', new Error('dead')), blocksKey: false });
    events.cancelled.next(ENDED);
    events.replaced.next(ENDED);
    events.released.next(ENDED);
    events.stale.next(DELIVERY);
    const range = { first: new Date(0), last: new Date(2000) };
    events.missed.next({ schedule: 's', topic: 'jobs', partition: 0, reason: 'outage', occurrences: 3, ...range });
    events.errors.next({ source: 'settle', error: new Error('out of reach') });
    const ends = ['retried', 'dead', 'cancelled', 'replaced', 'released'].flatMap((kind) => [
      ['countHandled', 'jobs', kind],
      ['observeHandler', 'jobs', 0.1],
    ]);
    expect(told).toEqual([
      ['observeLateness', 'jobs', 1.5],
      ['countHandled', 'jobs', 'acked'],
      ['observeHandler', 'jobs', 0.25],
      ...ends,
      ['countHandled', 'jobs', 'stale'],
      ['countMissed', 'jobs', 'outage', 3],
      ['countError', 'settle'],
    ]);
  });

  it('observes no running time if the handler was not called', () => {
    const { events, told, recorder } = setUp();
    recorder.start();
    events.dead.next({
      ...DELIVERY,
      duration: 0,
      failure: toFailure('expired', new Error('too late')),
      blocksKey: false,
    });
    expect(told).toEqual([['countHandled', 'jobs', 'dead']]);
  });

  it('counts a message as punctual if it seems early by the estimate of the clock', () => {
    const { events, told, recorder } = setUp();
    recorder.start();
    events.delivered.next({ ...DELIVERY, lateness: -0.2 });
    expect(told).toEqual([['observeLateness', 'jobs', 0]]);
  });

  it('listens only between start and stop, and lets readings be taken in between', async () => {
    const { events, reading, told, opened, recorder } = setUp();
    expect(Object.values(events).some(({ observed }) => observed)).toBe(false);
    recorder.start();
    recorder.start();
    expect(opened).toMatchObject([{ connection: 'main', closed: false }]);
    expect(await opened[0]?.read()).toBe(reading);
    recorder.stop();
    recorder.stop();
    expect(opened).toMatchObject([{ closed: true }]);
    expect(Object.values(events).some(({ observed }) => observed)).toBe(false);
    recorder.start();
    expect(opened).toHaveLength(1);
    expect(told).toEqual([]);
  });
});
