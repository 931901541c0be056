import { describe, expect, it } from 'vitest';
import type { ReportedProcess } from '../../../lib/store/records/process-records.js';
import { fakeBroker } from '../../support/units/fake-broker.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { BrokerUnavailableError } from '../../../lib/errors/operation.errors.js';
import type { BackgroundError } from '../../../lib/events/queue-events.interface.js';
import { UnhandledTopics } from '../../../lib/monitoring/unhandled-topics.js';

const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** A process, what Redis knows, and what the process asks of it and tells. */
class Bed {
  readonly clock = new ManualClock(0);
  /** Topics that a process of the fleet handles. */
  readonly handled = new Set<string>();
  /** Topics that were ever used. */
  known: string[] = [];
  /** What that process has told of itself. */
  reported: ReportedProcess = { state: undefined, holdings: undefined };
  /** When the sessions of the fleet were read. */
  readonly looks: number[] = [];
  readonly lines: string[] = [];
  readonly errors: BackgroundError[] = [];
  failing = false;
  readonly topics = new UnhandledTopics({
    store: fakeBroker({
      now: () => this.clock.now(),
      fleet: {
        sessions: async () => {
          this.looks.push(this.clock.now());
          if (this.failing) throw new BrokerUnavailableError('down');
          return [{ session: 'other', count: 1, at: this.clock.now(), length: 1000, digest: 'list', left: false }];
        },
        rememberedTopics: async (digests) =>
          digests.map((digest) => (digest === 'list' ? [...this.handled] : undefined)),
        topics: async () => this.known,
      },
      records: { reportedProcesses: async () => [this.reported] },
    }),
    clock: this.clock,
    events: { wants: () => true, emit: (_kind, event) => void this.errors.push(event as BackgroundError) },
    log: {
      log: (line) => void this.lines.push(`log ${line}`),
      warn: (line) => void this.lines.push(`warn ${line}`),
      error: () => {},
    },
  });

  /** Starts the process with its own handlers. */
  start(...own: string[]): this {
    this.topics.start({ topics: new Set(own), hint: () => undefined });
    return this;
  }

  /** Publishes every second. */
  async publishFor(milliseconds: number, topic: string): Promise<void> {
    for (let passed = 0; passed < milliseconds; passed += SECOND) {
      this.topics.published(topic);
      await this.clock.advance(SECOND);
    }
  }

  get unhandled(): string[] {
    return this.topics.unhandled.map(({ topic }) => topic);
  }
}

describe('UnhandledTopics', () => {
  it('warns once of a topic that nobody handles, 30 s after the first publish', async () => {
    const bed = new Bed().start();
    bed.topics.published('ordre.timeout');
    await bed.clock.advance(30 * SECOND - 1);
    expect(bed.lines).toEqual([]);
    await bed.clock.advance(1);

    expect(bed.lines).toEqual([
      "warn No process handles topic 'ordre.timeout', to which this process publishes: its messages wait until one does. " +
        "See that a method has @DelayedHandler('ordre.timeout'), that its class is a provider or controller of a module " +
        "that is imported, or that the topic is received, or named by an option 'push' or 'forward'; and that its process runs, on " +
        'the same Redis with the same prefix, and has not stopped its intake.',
    ]);
    expect(bed.errors).toMatchObject([
      { source: 'unhandled', topic: 'ordre.timeout', error: { code: 'UNHANDLED_TOPIC', suggestion: undefined } },
    ]);
    await bed.publishFor(10 * MINUTE, 'ordre.timeout');
    expect(bed.lines).toHaveLength(1);
    expect(bed.errors).toHaveLength(1);
    expect(bed.unhandled).toEqual(['ordre.timeout']);
  });

  it('names the nearest topic that is handled, be it by this process or by another', async () => {
    const bed = new Bed().start('order.paid');
    bed.known = ['order.timeou', 'order.timeout', 'ordre.paid', 'ordre.timeou'];
    bed.handled.add('order.timeout');
    bed.topics.published('ordre.timeou');
    bed.topics.published('ordre.paid');
    await bed.clock.advance(MINUTE);

    expect(bed.lines[0]).toContain("until one does. Did you mean 'order.timeout'? If not, see that a method has");
    expect(bed.lines[1]).toContain("Did you mean 'order.paid'?");
  });

  it('looks at a topic at most once a minute while it is published to, and not at all while it is not', async () => {
    const bed = new Bed().start();
    bed.handled.add('jobs');
    await bed.publishFor(10 * MINUTE, 'jobs');
    expect(bed.looks[0]).toBe(30 * SECOND);
    expect(bed.looks).toHaveLength(10);
    for (const [i, at] of bed.looks.slice(1).entries())
      expect(at - (bed.looks[i] as number)).toBeGreaterThanOrEqual(MINUTE);

    await bed.clock.advance(MINUTE);
    const { length } = bed.looks;
    expect(bed.clock.nextTimerAt).toBeUndefined();
    await bed.clock.advance(60 * MINUTE);
    expect(bed.looks).toHaveLength(length);
  });

  it('what somebody receives is handled, also while they are busy', async () => {
    const bed = new Bed().start();
    const receiver = { topic: 'jobs', consumer: 'worker', waiting: 0, holding: 1, seenAt: 0 };
    const state = { since: 0, version: '1.0.0', clockOffset: 0, concurrency: 1, busy: 0, waiting: 0 };
    bed.reported = { state: { ...state, receivers: [receiver] }, holdings: undefined };
    await bed.publishFor(2 * MINUTE, 'jobs');
    expect(bed.unhandled).toEqual([]);
    bed.reported = { state: { ...state, receivers: [{ ...receiver, holding: 0 }] }, holdings: undefined };
    await bed.publishFor(5 * MINUTE, 'jobs');
    expect(bed.unhandled).toEqual(['jobs']);
  });

  it('asks nothing about topics that this process handles, also if it publishes before its handlers are known', async () => {
    const bed = new Bed();
    bed.topics.published('jobs');
    bed.topics.published('mails');
    await bed.clock.advance(MINUTE);
    expect(bed.looks).toEqual([]);

    bed.start('jobs');
    await bed.publishFor(5 * MINUTE, 'jobs');
    expect(bed.looks).toEqual([90 * SECOND]);
    expect(bed.unhandled).toEqual(['mails']);
  });

  it('sits out the restart of the only handler, and warns if it stays away', async () => {
    const bed = new Bed().start();
    bed.handled.add('jobs');
    await bed.publishFor(2 * MINUTE, 'jobs');
    bed.handled.delete('jobs');
    await bed.publishFor(50 * SECOND, 'jobs');
    bed.handled.add('jobs');
    await bed.publishFor(2 * MINUTE, 'jobs');
    expect(bed.lines).toEqual([]);

    bed.handled.delete('jobs');
    bed.topics.published('jobs');
    await bed.clock.advance(3 * MINUTE);
    expect(bed.lines).toHaveLength(1);
    expect(bed.unhandled).toEqual(['jobs']);
  });

  it('says that a topic is handled now, at the next publish or when it is asked to look', async () => {
    const bed = new Bed().start();
    for (const topic of ['a.jobs', 'b.jobs']) bed.topics.published(topic);
    await bed.clock.advance(MINUTE);
    expect(bed.unhandled).toEqual(['a.jobs', 'b.jobs']);

    bed.handled.add('a.jobs').add('b.jobs');
    bed.topics.published('a.jobs');
    await bed.clock.advance(MINUTE);
    expect(bed.unhandled).toEqual(['b.jobs']);
    await bed.topics.refresh();
    expect(bed.unhandled).toEqual([]);
    expect(bed.lines.slice(2)).toEqual(["log Topic 'a.jobs' is handled now", "log Topic 'b.jobs' is handled now"]);
  });

  it('does not take an outage for a topic without handlers, and looks again a minute later', async () => {
    const bed = new Bed().start();
    bed.failing = true;
    bed.topics.published('jobs');
    await bed.clock.advance(30 * SECOND);
    expect(bed.errors).toMatchObject([{ source: 'membership', topic: 'jobs', error: { message: 'down' } }]);
    expect(bed.lines).toEqual([]);

    bed.failing = false;
    await bed.clock.advance(MINUTE);
    expect(bed.lines).toHaveLength(1);
  });

  it('has no timer once it is stopped', async () => {
    const bed = new Bed().start();
    bed.topics.published('jobs');
    await bed.topics.stop();
    bed.topics.published('mails');
    expect(bed.clock.nextTimerAt).toBeUndefined();
  });
});
