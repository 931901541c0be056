import { describe, expect, it } from 'vitest';
import type { Broker } from '../../../../lib/store/broker.interface.js';
import type { RetentionLimits } from '../../../../lib/store/dead-letters/retention.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import type { ConsumerContext } from '../../../../lib/consumer/consumer-context.js';
import { RetentionTrimmer } from '../../../../lib/consumer/upkeep/retention-trimmer.js';
import { BrokerUnavailableError } from '../../../../lib/errors/operation.errors.js';

const START = 1_000_000;

/** A trimmer whose calls the test answers, one after another. */
function build({ limits = { maxAge: 1000 }, leastPause = 0 }: { limits?: RetentionLimits; leastPause?: number } = {}) {
  const clock = new ManualClock(START);
  const calls: { resolve: (nextAt: number | undefined) => void; reject: (error: Error) => void }[] = [];
  const broker: Partial<Broker> = { now: () => clock.now() };
  const context: ConsumerContext = {
    broker: broker as Broker,
    clock,
    log: { log: () => {}, warn: () => {}, error: () => {} },
    events: { wants: () => false, emit: () => {} },
    session: 'me',
  };
  const trim = (): Promise<number | undefined> => new Promise((resolve, reject) => calls.push({ resolve, reject }));
  const retention = { what: 'dead letters', limits, leastPause, trim };
  return { clock, calls, trimmer: new RetentionTrimmer(context, { topic: 'jobs', index: 0 }, retention) };
}

async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

describe('RetentionTrimmer', () => {
  it('looks at the beginning, and when the next one expires', async () => {
    const { clock, calls, trimmer } = build();
    void trimmer.start();
    calls[0]?.resolve(START + 500);
    await turn();
    await clock.advance(499);
    expect(calls).toHaveLength(1);
    await clock.advance(1);
    expect(calls).toHaveLength(2);
    calls[1]?.resolve(undefined);
    await trimmer.stop();
  });

  it('looks again after a call during which messages have died', async () => {
    const { calls, trimmer } = build();
    void trimmer.start();
    trimmer.trim();
    trimmer.trim();
    expect(calls).toHaveLength(1);
    calls[0]?.resolve(undefined);
    await turn();
    expect(calls).toHaveLength(2);
    calls[1]?.resolve(undefined);
    await turn();
    expect(calls).toHaveLength(2);
    await trimmer.stop();
  });

  it('looks again after a failure, even if nothing dies any more', async () => {
    const { clock, calls, trimmer } = build();
    void trimmer.start();
    calls[0]?.reject(new BrokerUnavailableError('gone'));
    await turn();
    await clock.advance(5000);
    expect(calls).toHaveLength(2);
    calls[1]?.resolve(undefined);
    await trimmer.stop();
  });

  it('looks at growing intervals for what other processes leave behind, while its process owns the partition', async () => {
    const { clock, calls, trimmer } = build();
    void trimmer.start();
    for (const [i, pause] of [1000, 2000, 4000].entries()) {
      calls[i]?.resolve(undefined);
      await turn();
      await clock.advance(pause - 1);
      expect(calls).toHaveLength(i + 1);
      await clock.advance(1);
      expect(calls).toHaveLength(i + 2);
    }
    trimmer.disowned();
    calls[3]?.resolve(undefined);
    await turn();
    expect(clock.nextTimerAt).toBeUndefined();
    await trimmer.stop();
  });

  it('removes together what expires within a short time, and goes on at once if there is more to do', async () => {
    const { clock, calls, trimmer } = build({ leastPause: 500 });
    void trimmer.start();
    calls[0]?.resolve(START + 3);
    await turn();
    await clock.advance(499);
    expect(calls).toHaveLength(1);
    await clock.advance(1);
    expect(calls).toHaveLength(2);
    calls[1]?.resolve(0);
    await turn();
    await clock.advance(0);
    expect(calls).toHaveLength(3);
    calls[2]?.resolve(undefined);
    await trimmer.stop();
  });

  it('looks again once what comes now is too old, however long it would have waited', async () => {
    const { clock, calls, trimmer } = build();
    void trimmer.start();
    for (const [i, pause] of [1000, 2000, 4000].entries()) {
      calls[i]?.resolve(undefined);
      await turn();
      await clock.advance(pause);
    }
    calls[3]?.resolve(undefined);
    await turn();
    trimmer.expectMore();
    await clock.advance(999);
    expect(calls).toHaveLength(4);
    await clock.advance(1);
    expect(calls).toHaveLength(5);
    calls[4]?.resolve(undefined);
    await trimmer.stop();
  });

  it('does nothing without limits', async () => {
    const { calls, trimmer } = build({ limits: {} });
    await trimmer.start();
    trimmer.trim();
    trimmer.expectMore();
    expect(calls).toHaveLength(0);
    await trimmer.stop();
  });

  it('does nothing once it is stopped', async () => {
    const { clock, calls, trimmer } = build();
    void trimmer.start();
    trimmer.trim();
    const stopping = trimmer.stop();
    calls[0]?.resolve(START + 1);
    await stopping;
    await clock.advance(10_000);
    trimmer.trim();
    expect(calls).toHaveLength(1);
  });
});
