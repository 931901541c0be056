import { describe, expect, it } from 'vitest';
import { fakeBroker } from '../../../support/units/fake-broker.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import type { ConsumerContext } from '../../../../lib/consumer/consumer-context.js';
import { DeadLetterNotifier } from '../../../../lib/consumer/delivery/dead-letter-notifier.js';
import { Delivery } from '../../../../lib/consumer/delivery/delivery.js';
import { BrokerUnavailableError } from '../../../../lib/errors/operation.errors.js';
import type { DeadLetter } from '../../../../lib/messages/delayed-message.interface.js';
import { type Failure, toFailedAttempt } from '../../../../lib/messages/failure.js';

const FAILURE: Failure = { reason: 'failed', name: 'Error', message: 'no' };
const ATTEMPT = toFailedAttempt(FAILURE, { at: 500, attempt: 2, duration: 1 });
const NOW = 1000.5;

function delivery(id: string, topic = 'jobs', envelope = '[1,{"a":1}]'): Delivery {
  const claimed = { storedId: id, envelope, token: 'epoch.1', delivery: 2, attempt: 2, weight: 0, dueAt: 0 };
  return new Delivery({ topic, index: 3 }, claimed, Infinity);
}

function build(call: (letter: DeadLetter) => unknown) {
  const errors: string[] = [];
  const clock = new ManualClock(NOW);
  const broker = fakeBroker({
    now: () => NOW,
    messages: { get: async () => Promise.reject(new BrokerUnavailableError('gone')) },
  });
  const context: ConsumerContext = {
    broker,
    clock,
    log: { log: () => {}, warn: () => {}, error: (message) => errors.push(message) },
    events: { wants: () => false, emit: () => {} },
    session: 'me',
  };
  return { errors, clock, notifier: new DeadLetterNotifier(context, [{ name: 'Jobs.onDead', topic: 'jobs', call }]) };
}

describe('DeadLetterNotifier', () => {
  it('passes what this process knows if the broker cannot be reached', async () => {
    const letters: DeadLetter[] = [];
    const { notifier } = build((letter) => letters.push(letter));
    notifier.notify(delivery('a'), { kind: 'dead', failure: FAILURE, failedAttempt: ATTEMPT });
    notifier.notify(delivery('b', 'jobs', 'garbage'), { kind: 'dead', failure: FAILURE, spent: false });
    notifier.notify(delivery('c', 'other'), { kind: 'dead', failure: FAILURE });
    await notifier.idle();

    const common = { topic: 'jobs', partition: 3, failure: FAILURE, headers: {}, diedAt: new Date(1000) };
    expect(letters).toEqual([
      { ...common, id: 'a', key: 'a', payload: { a: 1 }, attempts: 2, history: [ATTEMPT], raw: '[1,{"a":1}]' },
      { ...common, id: 'b', key: 'b', payload: undefined, attempts: 1, history: [], raw: 'garbage' },
    ]);
  });

  it('keeps 1,000 waiting behind the 10 that run, and reports once that more are dropped', async () => {
    let hang = true;
    const held: (() => void)[] = [];
    let calls = 0;
    const { notifier, errors } = build(() => {
      calls++;
      return hang ? new Promise<void>((resolve) => held.push(resolve)) : undefined;
    });
    for (let i = 0; i < 1500; i++) notifier.notify(delivery(`m-${i}`), { kind: 'dead', failure: FAILURE });
    expect(notifier.pending).toBe(1010);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain("'m-1010'");
    await expect.poll(() => held.length).toBe(10);

    hang = false;
    for (const release of held) release();
    await notifier.idle();
    expect(calls).toBe(1010);
  });

  it('goes on with the others if hooks hang, and says which', async () => {
    const called: string[] = [];
    const { notifier, errors, clock } = build(async ({ id }) => {
      called.push(id);
      if (id.startsWith('hanging')) await new Promise(() => {});
    });
    for (let i = 0; i < 10; i++) notifier.notify(delivery(`hanging-${i}`), { kind: 'dead', failure: FAILURE });
    notifier.notify(delivery('a'), { kind: 'dead', failure: FAILURE });
    await expect.poll(() => called).toHaveLength(10);
    await clock.advance(30_000);

    await notifier.idle();
    expect(called.at(-1)).toBe('a');
    expect(errors).toHaveLength(10);
    expect(errors[0]).toBe(
      "Jobs.onDead has not ended for dead letter 'hanging-0' of topic 'jobs'; the others go on without waiting for it",
    );
  });

  it('waits for no hook any more once it is closed, and says nothing of those that hang', async () => {
    let calls = 0;
    const { notifier, errors, clock } = build(() => {
      calls++;
      return new Promise(() => {});
    });
    notifier.notify(delivery('a'), { kind: 'dead', failure: FAILURE });
    await expect.poll(() => calls).toBe(1);
    notifier.close();
    await notifier.idle();
    await clock.advance(30_000);
    expect(errors).toEqual([]);
  });

  it('survives a hook that throws what cannot be looked at', async () => {
    const { notifier, errors } = build(() => {
      const { proxy, revoke } = Proxy.revocable({}, {});
      revoke();
      throw proxy;
    });
    notifier.notify(delivery('a'), { kind: 'dead', failure: FAILURE });
    await notifier.idle();
    expect(errors).toEqual(["Jobs.onDead failed for dead letter 'a' of topic 'jobs'"]);
  });

  it('calls nothing once it is closed', async () => {
    let calls = 0;
    const { notifier } = build(() => calls++);
    notifier.notify(delivery('a'), { kind: 'dead', failure: FAILURE });
    notifier.close();
    notifier.notify(delivery('b'), { kind: 'dead', failure: FAILURE });
    await notifier.idle();
    expect(calls).toBe(0);
  });
});
