import { afterEach, describe, expect, it, vi } from 'vitest';
import type { HistorySettings } from '../../../lib/store/records/process-records.js';
import { EmbeddedBroker } from '../../../lib/engines/embedded/embedded.broker.js';
import { type BrokerCall, wrapBroker } from '../../../lib/store/wrap-broker.js';
import { BrokerUnavailableError } from '../../../lib/errors/operation.errors.js';
import type { BackgroundError } from '../../../lib/events/queue-events.interface.js';
import { type ProcessLook, ProcessReporter } from '../../../lib/fleet/process-reporter.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { VERSION } from '../../../lib/version.js';

/** The begin of a minute. */
const START = 1_700_000_040_000;
const MINUTE = START / 60_000;

const IDLE: ProcessLook = { concurrency: 10, busy: 0, waiting: 0, holdings: { jobs: [0, 1] } };

afterEach(() => void vi.restoreAllMocks());

async function open(history?: HistorySettings) {
  const clock = new ManualClock(START);
  // The clock of this machine is right.
  vi.spyOn(Date, 'now').mockImplementation(() => clock.now());
  const embedded = new EmbeddedBroker(clock);
  await embedded.fleet.heartbeat({ session: 'me', count: 1, length: 10_000, digest: 'none' });
  const calls: BrokerCall[] = [];
  const errors: unknown[] = [];
  const bed = { look: IDLE, failure: undefined as Error | undefined, offset: 0 };
  const around = async (call: BrokerCall): Promise<unknown> => {
    calls.push(call);
    if (bed.failure) throw bed.failure;
    return call.run();
  };
  const broker = wrapBroker(embedded, around, { now: () => clock.now() + bed.offset });
  const reporter = new ProcessReporter({
    broker,
    clock,
    session: 'me',
    events: {
      wants: () => true,
      emit: (_kind, event) => void errors.push((event as BackgroundError).error),
    },
    look: () => bed.look,
    history,
  });
  /** A heartbeat was answered; answers which calls followed. */
  const beat = async (): Promise<string[]> => {
    calls.length = 0;
    reporter.poke();
    await clock.advance(0);
    return calls.map(({ operation }) => operation);
  };
  const handed = (topic: string, ...lateness: readonly number[]): void => {
    const messages = lateness.map((late) => ({ dueAt: clock.now() - late }));
    reporter.meter(topic).handed(clock.now(), messages);
  };
  return { clock, embedded, bed, errors, reporter, beat, handed };
}

describe('ProcessReporter', () => {
  it('tells once what the process is, and then nothing while nothing happens', async () => {
    const { embedded, beat, clock } = await open();

    expect(await beat()).toEqual(['report']);
    expect(await embedded.records.reportedProcesses(['me'])).toEqual([
      {
        state: {
          since: START,
          version: VERSION,
          clockOffset: expect.any(Number) as number,
          concurrency: 10,
          busy: 0,
          waiting: 0,
        },
        holdings: { jobs: [0, 1] },
      },
    ]);
    for (let i = 0; i < 100; i++) {
      await clock.advance(4500);
      expect(await beat()).toEqual([]);
    }
  });

  it.each([
    ['it is busy', { busy: 1 }],
    ['a partition waits', { waiting: 1 }],
  ])('tells that %s, and what it owns not again', async (_, change) => {
    const { embedded, bed, beat } = await open();
    await beat();
    bed.look = { ...IDLE, ...change };

    expect(await beat()).toEqual(['report']);
    expect(await embedded.records.reportedProcesses(['me'])).toMatchObject([
      { state: change, holdings: IDLE.holdings },
    ]);
  });

  it('tells that it owns other partitions', async () => {
    const { embedded, bed, beat } = await open();
    await beat();
    bed.look = { ...IDLE, holdings: { jobs: [1] } };

    expect(await beat()).toEqual(['report']);
    expect(await embedded.records.reportedProcesses(['me'])).toMatchObject([{ holdings: { jobs: [1] } }]);
  });

  it('tells of its clock only if it has moved by more than an estimate does', async () => {
    const { bed, beat } = await open();
    await beat();
    bed.offset = 8;
    expect(await beat()).toEqual([]);
    bed.offset = 5000;
    expect(await beat()).toEqual(['report']);
  });

  it('tells what was done, minute by minute, and each only while it changes', async () => {
    const { embedded, reporter, clock, beat, handed } = await open();
    await beat();
    handed('jobs', 1, 2, 300);
    reporter.meter('jobs').ended(clock.now(), 'acked');
    expect(await beat()).toEqual(['reportWork']);
    expect(await beat()).toEqual([]);
    await clock.advance(59_000);
    reporter.meter('jobs').ended(clock.now(), 'retried');
    await clock.advance(1000);
    handed('jobs', 7);
    expect(await beat()).toEqual(['reportWork', 'reportWork']);
    expect(await beat()).toEqual([]);

    expect(await embedded.records.reportedWork(MINUTE)).toMatchObject([
      { session: 'me', topic: 'jobs', delivered: 3, acked: 1, retried: 1, dead: 0, maxLateness: 300 },
    ]);
    expect(await embedded.records.reportedWork(MINUTE + 1)).toMatchObject([{ delivered: 1, acked: 0, maxLateness: 7 }]);
  });

  it('tells of many topics in several calls', async () => {
    const { embedded, beat, handed } = await open();
    await beat();
    for (let i = 0; i < 450; i++) handed(`topic-${i}`, 1);

    expect(await beat()).toEqual(['reportWork', 'reportWork', 'reportWork']);
    expect(await embedded.records.reportedWork(MINUTE)).toHaveLength(450);
  });

  it('tells later what could not be told', async () => {
    const { embedded, bed, errors, beat, handed } = await open();
    bed.failure = new BrokerUnavailableError('gone');
    handed('jobs', 1);
    expect(await beat()).toEqual(['report']);
    bed.failure = undefined;
    expect(await beat()).toEqual(['report', 'reportWork']);
    bed.failure = new BrokerUnavailableError('full', { full: true });
    handed('jobs', 2);
    expect(await beat()).toEqual(['reportWork']);
    bed.failure = undefined;
    expect(await beat()).toEqual(['reportWork']);

    expect(await embedded.records.reportedWork(MINUTE)).toMatchObject([{ delivered: 2 }]);
    expect(errors).toEqual([]);
  });

  it('adds its work to the history, in small calls', async () => {
    const { embedded, beat, handed } = await open({ span: 15, keep: 86_400_000 });
    for (let i = 0; i < 45; i++) handed(`topic-${i}`, 2);
    expect(await beat()).toEqual(['report', 'reportWork', 'reportWork', 'reportWork']);
    handed('topic-44', 2);
    await beat();

    expect(await embedded.records.historyOf('topic-44', MINUTE)).toMatchObject([{ span: 15, delivered: 2 }]);
  });

  it('lets nobody wait for what is out of date by then', async () => {
    const { bed, clock, beat, handed } = await open();
    await beat();
    bed.failure = new BrokerUnavailableError('gone');
    handed('jobs', 1);
    await beat();
    await clock.advance(20 * 60_000);
    bed.failure = undefined;

    expect(await beat()).toEqual([]);
  });

  it('tells everything again once Redis has lost it', async () => {
    const { embedded, reporter, beat } = await open();
    await beat();
    await embedded.fleet.forget(['me']);
    await embedded.fleet.heartbeat({ session: 'me', count: 9, length: 10_000, digest: 'none' });
    reporter.forgotten();

    expect(await beat()).toEqual(['report']);
    expect(await embedded.records.reportedProcesses(['me'])).toMatchObject([
      { state: { since: START }, holdings: { jobs: [0, 1] } },
    ]);
  });

  it('goes on telling what its session was missing for', async () => {
    const { embedded, beat } = await open();
    await embedded.fleet.forget(['me']);
    expect(await beat()).toEqual(['report']);
    await embedded.fleet.heartbeat({ session: 'me', count: 2, length: 10_000, digest: 'none' });

    expect(await beat()).toEqual(['report']);
    expect(await beat()).toEqual([]);
  });

  it('reports a fault of its own as an error in the background', async () => {
    const { bed, errors, beat } = await open();
    bed.failure = new TypeError('a mistake');
    await beat();

    expect(errors).toEqual([bed.failure]);
  });
});
