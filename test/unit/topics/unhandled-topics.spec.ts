import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../lib/time/manual-clock.js';
import { BrokerUnavailableError } from '../../../lib/errors/broker-unavailable.error.js';
import type { BackgroundError } from '../../../lib/events/background-error.js';
import { UnhandledTopics } from '../../../lib/topics/unhandled-topics.js';

const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** A process, what Redis knows, and what the process asks of it and tells. */
class Bench {
  readonly clock = new ManualClock(0);
  /** Topics that a process of the fleet handles. */
  readonly handled = new Set<string>();
  /** Topics that were ever used. */
  known: string[] = [];
  /** When whose members were asked for. */
  readonly looks: [at: number, topic: string][] = [];
  readonly lines: string[] = [];
  readonly errors: BackgroundError[] = [];
  failing = false;
  readonly topics = new UnhandledTopics({
    store: {
      hasMembers: async (topic) => {
        this.looks.push([this.clock.now(), topic]);
        if (this.failing) throw new BrokerUnavailableError('down');
        return this.handled.has(topic);
      },
      topics: async () => this.known,
    },
    clock: this.clock,
    events: { wants: () => true, emit: (_kind, event) => void this.errors.push(event as BackgroundError) },
    log: {
      log: (line) => void this.lines.push(`log ${line}`),
      warn: (line) => void this.lines.push(`warn ${line}`),
      error: () => {},
    },
  });

  /** Lets the process begin, with handlers of its own. */
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
    const bench = new Bench().start();
    bench.topics.published('ordre.timeout');
    await bench.clock.advance(30 * SECOND - 1);
    expect(bench.lines).toEqual([]);
    await bench.clock.advance(1);

    expect(bench.lines).toEqual([
      "warn No process handles topic 'ordre.timeout', to which this process publishes: its messages wait until one does. " +
        "See that a method has @DelayedHandler('ordre.timeout'), that its class is a provider or controller of a module " +
        'that is imported, and that its process runs, on the same Redis with the same prefix.',
    ]);
    expect(bench.errors).toMatchObject([
      { source: 'unhandled', topic: 'ordre.timeout', error: { code: 'UNHANDLED_TOPIC', suggestion: undefined } },
    ]);
    await bench.publishFor(10 * MINUTE, 'ordre.timeout');
    expect(bench.lines).toHaveLength(1);
    expect(bench.errors).toHaveLength(1);
    expect(bench.unhandled).toEqual(['ordre.timeout']);
  });

  it('names the nearest topic that is handled, be it by this process or by another', async () => {
    const bench = new Bench().start('order.paid');
    bench.known = ['order.timeou', 'order.timeout', 'ordre.paid', 'ordre.timeou'];
    bench.handled.add('order.timeout');
    bench.topics.published('ordre.timeou');
    bench.topics.published('ordre.paid');
    await bench.clock.advance(MINUTE);

    expect(bench.lines[0]).toContain("until one does. Did you mean 'order.timeout'? If not, see that a method has");
    expect(bench.lines[1]).toContain("Did you mean 'order.paid'?");
  });

  it('looks at a topic at most once a minute while it is published to, and not at all while it is not', async () => {
    const bench = new Bench().start();
    bench.handled.add('jobs');
    await bench.publishFor(10 * MINUTE, 'jobs');
    const times = bench.looks.map(([at]) => at);
    expect(times[0]).toBe(30 * SECOND);
    expect(times).toHaveLength(10);
    for (const [i, at] of times.slice(1).entries()) expect(at - (times[i] as number)).toBeGreaterThanOrEqual(MINUTE);

    await bench.clock.advance(MINUTE);
    const { length } = bench.looks;
    expect(bench.clock.nextTimerAt).toBeUndefined();
    await bench.clock.advance(60 * MINUTE);
    expect(bench.looks).toHaveLength(length);
  });

  it('asks nothing about topics that this process handles, also if it publishes before its handlers are known', async () => {
    const bench = new Bench();
    bench.topics.published('jobs');
    bench.topics.published('mails');
    await bench.clock.advance(MINUTE);
    expect(bench.looks).toEqual([]);

    bench.start('jobs');
    await bench.publishFor(5 * MINUTE, 'jobs');
    expect(bench.looks).toEqual([[90 * SECOND, 'mails']]);
  });

  it('sits out the restart of the only handler, and warns if it stays away', async () => {
    const bench = new Bench().start();
    bench.handled.add('jobs');
    await bench.publishFor(2 * MINUTE, 'jobs');
    bench.handled.delete('jobs');
    await bench.publishFor(50 * SECOND, 'jobs');
    bench.handled.add('jobs');
    await bench.publishFor(2 * MINUTE, 'jobs');
    expect(bench.lines).toEqual([]);

    bench.handled.delete('jobs');
    bench.topics.published('jobs');
    await bench.clock.advance(3 * MINUTE);
    expect(bench.lines).toHaveLength(1);
    expect(bench.unhandled).toEqual(['jobs']);
  });

  it('says that a topic is handled now, at the next publish or when it is asked to look', async () => {
    const bench = new Bench().start();
    for (const topic of ['a.jobs', 'b.jobs']) bench.topics.published(topic);
    await bench.clock.advance(MINUTE);
    expect(bench.unhandled).toEqual(['a.jobs', 'b.jobs']);

    bench.handled.add('a.jobs').add('b.jobs');
    bench.topics.published('a.jobs');
    await bench.clock.advance(MINUTE);
    expect(bench.unhandled).toEqual(['b.jobs']);
    await bench.topics.refresh();
    expect(bench.unhandled).toEqual([]);
    expect(bench.lines.slice(2)).toEqual(["log Topic 'a.jobs' is handled now", "log Topic 'b.jobs' is handled now"]);
  });

  it('does not take an outage for a topic without handlers, and looks again a minute later', async () => {
    const bench = new Bench().start();
    bench.failing = true;
    bench.topics.published('jobs');
    await bench.clock.advance(30 * SECOND);
    expect(bench.errors).toMatchObject([{ source: 'membership', topic: 'jobs', error: { message: 'down' } }]);
    expect(bench.lines).toEqual([]);

    bench.failing = false;
    await bench.clock.advance(MINUTE);
    expect(bench.lines).toHaveLength(1);
  });

  it('has no timer once it is stopped', async () => {
    const bench = new Bench().start();
    bench.topics.published('jobs');
    bench.topics.stop();
    bench.topics.published('mails');
    expect(bench.clock.nextTimerAt).toBeUndefined();
  });
});
