import { describe, expect, it, vi } from 'vitest';
import type { Broker } from '../../../lib/broker/broker.interface.js';
import type { ConsumerContext } from '../../../lib/consumer/consumer-context.js';
import type { HandledTopic } from '../../../lib/consumer/message-handler.interface.js';
import { PulledTopic } from '../../../lib/receiver/pulled-topic.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { Gate } from '../../support/waiting.js';

const KEPT = 5000;

/** A topic whose partitions the test hands out. */
function build() {
  const clock = new ManualClock(1_000_000);
  const context: ConsumerContext = {
    broker: {} as Broker,
    clock,
    log: { log: () => {}, warn: () => {}, error: () => {} },
    events: { wants: () => false, emit: () => {} },
    member: 'me',
  };
  const granted = new Gate();
  const runtime = {
    pull: vi.fn<() => Promise<void>>(async () => granted.opened),
    unpull: vi.fn<() => Promise<void>>(async () => {}),
  };
  const handled = { topic: 'jobs' } as HandledTopic;
  return { clock, granted, runtime, pulled: new PulledTopic({ context, handled, runtime }) };
}

const REQUEST = { max: 1, lease: 1000, wait: 0, signal: undefined };

async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

describe('PulledTopic', () => {
  it('gives partitions back that it got when nobody was there any more', async () => {
    const { clock, granted, runtime, pulled } = build();
    const [answered] = await Promise.allSettled([
      pulled.receive(REQUEST),
      turn().then(async () => clock.advance(KEPT)),
    ]);
    expect(answered).toMatchObject({ reason: { code: 'BROKER_UNAVAILABLE' } });
    await clock.advance(10 * KEPT);
    granted.open();
    await turn();
    expect(pulled.isOpen).toBe(true);
    await clock.advance(KEPT);
    expect(pulled.isOpen).toBe(false);
    expect(runtime.unpull).toHaveBeenCalledExactlyOnceWith('jobs');
  });

  it('keeps them while somebody is there again, and takes them once', async () => {
    const { clock, granted, runtime, pulled } = build();
    const [first] = await Promise.allSettled([pulled.receive(REQUEST), turn().then(async () => clock.advance(KEPT))]);
    expect(first.status).toBe('rejected');
    const leaves = new AbortController();
    const second = pulled.receive({ ...REQUEST, wait: 10 * KEPT, signal: leaves.signal });
    granted.open();
    await turn();
    await clock.advance(2 * KEPT);
    expect([pulled.isOpen, runtime.pull.mock.calls.length]).toEqual([true, 1]);
    leaves.abort();
    expect(await second).toEqual([]);
    await clock.advance(KEPT);
    expect(runtime.unpull).toHaveBeenCalledOnce();
  });
});
