import { Injectable } from '@nestjs/common';
import {
  type Backoff,
  type DelayedMessage,
  DelayedHandler,
  HandlerTimeoutError,
  RetryLaterError,
  type TopicOptions,
  UnrecoverableError,
} from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { Recorder } from '../support/app/recorder.js';
import { Gate, abortOf, eventually } from '../support/waiting.js';

@Injectable()
class Payments extends Recorder {
  @DelayedHandler('payments')
  async collect(payload: unknown, message: DelayedMessage) {
    return this.take(payload, message);
  }
}

const bed = useBed();

async function start(defaults: TopicOptions = {}) {
  const app = await bed.start({ providers: [Payments], options: { defaults: { partitions: 1, ...defaults } } });
  return { producer: app.producer, events: app.events, payments: app.get(Payments) };
}

/** Waits between consecutive calls of a handler, in milliseconds. */
function pauses({ calls }: Payments): number[] {
  return calls.slice(1).map(({ at }, i) => at - (calls[i]?.at ?? NaN));
}

describe('a handler that throws', () => {
  it.each<{ what: string; backoff: Backoff; delays: number[] }>([
    { what: 'fixed', backoff: { type: 'fixed', delay: 30 }, delays: [30, 30, 30] },
    { what: 'fixed, as a string', backoff: { type: 'fixed', delay: '30ms' }, delays: [30, 30, 30] },
    { what: 'exponential', backoff: { type: 'exponential', delay: 10 }, delays: [10, 20, 40] },
    {
      what: 'exponential with factor and maxDelay',
      backoff: { type: 'exponential', delay: 10, factor: 3, maxDelay: '50ms' },
      delays: [10, 30, 50],
    },
    { what: 'a function', backoff: (attempt) => `${attempt * 15}ms`, delays: [15, 30, 45] },
    {
      what: 'a function of the error',
      backoff: (_attempt, error) => Number((error as Error).message.at(-1)) * 10,
      delays: [10, 20, 30],
    },
  ])('is called again after each backoff, then never again: $what', async ({ backoff, delays }) => {
    const { producer, events, payments } = await start({ attempts: 4, backoff });
    payments.respond = (_payload, { attempt }) => {
      throw new Error(`attempt ${attempt}`);
    };
    await producer.publish('payments', 1, { id: 'a' });
    expect(await events.dead.first()).toMatchObject({ id: 'a', attempt: 4 });

    expect(payments.calls.map(({ message }) => message.attempt)).toEqual([1, 2, 3, 4]);
    expect(payments.calls.map(({ message }) => message.maxAttempts)).toEqual([4, 4, 4, 4]);
    expect(events.retried.past.map(({ delay, attempt }) => [attempt, delay])).toEqual(
      delays.map((delay, i) => [i + 1, delay]),
    );
    expect(events.retried.past.map(({ error }) => (error as Error).message)).toEqual(
      delays.map((_, i) => `attempt ${i + 1}`),
    );
    // The two clocks may differ by a fraction of a millisecond.
    for (const [i, pause] of pauses(payments).entries()) expect(pause).toBeGreaterThan((delays[i] ?? NaN) - 1);
  });

  it('spreads the retries if the backoff has jitter', async () => {
    const backoff: Backoff = { type: 'exponential', delay: 60_000, jitter: 0.5 };
    const { producer, events, payments } = await start({ backoff });
    payments.respond = () => {
      throw new Error('down');
    };
    await producer.publishMany(
      'payments',
      Array.from({ length: 20 }, (_, payload) => ({ payload })),
    );
    const delays = (await events.retried.take(20)).map(({ delay }) => delay);
    expect(new Set(delays).size).toBeGreaterThan(1);
    for (const delay of delays) {
      expect(delay).toBeGreaterThanOrEqual(60_000);
      expect(delay).toBeLessThanOrEqual(90_000);
    }
  });

  it('has five attempts and a backoff that begins at one second by default', async () => {
    const { producer, events, payments } = await start();
    payments.respond = () => {
      throw new Error('down');
    };
    await producer.publish('payments', 1);
    const { delay } = await events.retried.first();
    expect(delay).toBeGreaterThanOrEqual(1000);
    expect(delay).toBeLessThanOrEqual(1200);
    expect(payments.calls[0]?.message.maxAttempts).toBe(5);
  });

  it.each<{ what: string; backoff: Backoff }>([
    {
      what: 'throws',
      backoff: () => {
        throw new Error('a bug');
      },
    },
    { what: 'returns no duration', backoff: () => NaN },
  ])('is retried after the default backoff if the backoff function $what', async ({ backoff }) => {
    const { producer, events, payments } = await start({ backoff });
    payments.respond = () => {
      throw new Error('down');
    };
    await producer.publish('payments', 1);
    const { delay, error } = await events.retried.first();
    expect(delay).toBeGreaterThanOrEqual(1000);
    expect(delay).toBeLessThanOrEqual(1200);
    expect(error).toEqual(new Error('down'));
  });

  it('does not hold up the messages behind it', async () => {
    const { producer, events, payments } = await start({ backoff: { type: 'fixed', delay: '1h' } });
    payments.respond = (payload) => {
      if (payload === 'bad') throw new Error('down');
    };
    await producer.publish('payments', 'bad', { id: 'bad' });
    await producer.publish('payments', 'good', { id: 'good' });
    await events.acked.first(({ id }) => id === 'good');
    expect(payments.callsOf('bad')).toHaveLength(1);
  });
});

describe('RetryLaterError', () => {
  it('puts the message off without spending the attempt, however often', async () => {
    const { producer, events, payments } = await start({ attempts: 2, backoff: { type: 'fixed', delay: 5 } });
    payments.respond = () => {
      const { length } = payments.calls;
      if (length <= 4) throw new RetryLaterError('20ms');
      if (length === 5) throw new Error('a failure');
    };
    await producer.publish('payments', 1, { id: 'a' });
    await events.acked.first();
    expect(payments.calls.map(({ message }) => message.attempt)).toEqual([1, 1, 1, 1, 1, 2]);
    expect(events.retried.past.map(({ delay }) => delay)).toEqual([20, 20, 20, 20, 5]);
    for (const pause of pauses(payments).slice(0, 4)) expect(pause).toBeGreaterThan(19);
    expect(events.dead.past).toEqual([]);
  });

  it('works in the last attempt', async () => {
    const { producer, events, payments } = await start({ attempts: 1 });
    payments.respond = () => {
      if (payments.calls.length === 1) throw new RetryLaterError(10);
    };
    await producer.publish('payments', 1);
    expect(await events.acked.first()).toMatchObject({ attempt: 1 });
    expect(payments.calls).toHaveLength(2);
  });
});

describe('a handler that runs past its timeout', () => {
  it('has its signal aborted with HandlerTimeoutError, and is called again', async () => {
    const { producer, events, payments } = await start({ timeout: '50ms', backoff: { type: 'fixed', delay: 10 } });
    const reasons: unknown[] = [];
    payments.respond = async (_payload, { attempt, signal }) => {
      if (attempt === 1) reasons.push(await abortOf(signal));
    };
    await producer.publish('payments', 1, { id: 'a' });
    const { error, attempt } = await events.retried.first();
    expect(attempt).toBe(1);
    expect(error).toBeInstanceOf(HandlerTimeoutError);
    expect(error).toMatchObject({ code: 'HANDLER_TIMEOUT', timeout: 50 });
    expect(await events.acked.first()).toMatchObject({ attempt: 2 });
    expect(reasons).toEqual([error]);
  });

  it('has failed even if it succeeds afterwards, and is not called again before it has ended', async () => {
    const { producer, events, payments } = await start({ timeout: 50, backoff: { type: 'fixed', delay: 0 } });
    const gate = new Gate();
    payments.respond = async (_payload, { id, attempt }) => {
      if (id === 'a' && attempt === 1) await gate.opened;
    };
    await producer.publish('payments', 1, { id: 'a' });
    await events.retried.first();
    // Due after the retry, in the same partition: the retry was claimed before.
    await producer.publish('payments', 2, { id: 'b', delay: 20 });
    await events.acked.first(({ id }) => id === 'b');
    expect(payments.callsOf('a')).toHaveLength(1);
    gate.open();
    expect(await events.acked.first(({ id }) => id === 'a')).toMatchObject({ attempt: 2 });
    expect(payments.callsOf('a')).toHaveLength(2);
  });

  it('is a dead letter after its last attempt', async () => {
    const { producer, events, payments } = await start({ timeout: 20, attempts: 1 });
    payments.respond = async (_payload, { signal }) => abortOf(signal);
    await producer.publish('payments', 1);
    const { failure } = await events.dead.first();
    expect(failure).toMatchObject({ reason: 'failed', name: 'HandlerTimeoutError', code: 'HANDLER_TIMEOUT' });
    expect(failure.message).toContain('20 ms');
    await eventually(() => expect(payments.running).toBe(0));
  });

  it('does not abort the signal of a handler that ended in time', async () => {
    const { producer, events, payments } = await start({ timeout: 30 });
    const signals: AbortSignal[] = [];
    payments.respond = (_payload, { signal }) => signals.push(signal);
    await producer.publish('payments', 1, { id: 'a' });
    await events.acked.first();
    await producer.publish('payments', 2, { id: 'b', delay: 60 });
    await events.acked.first(({ id }) => id === 'b');
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false]);
  });
});

describe('UnrecoverableError', () => {
  it('makes the message a dead letter at once', async () => {
    const { producer, events, payments } = await start({ attempts: 5 });
    payments.respond = () => {
      throw new UnrecoverableError('no such account', { cause: new Error('404') });
    };
    await producer.publish('payments', 1, { id: 'a' });
    const { attempt, failure } = await events.dead.first();
    expect(attempt).toBe(1);
    expect(failure).toMatchObject({ reason: 'unrecoverable', name: 'UnrecoverableError', message: 'no such account' });
    expect(payments.calls).toHaveLength(1);
    expect(events.retried.past).toEqual([]);
    expect(await bed.partition('payments').dead()).toEqual(['a']);
  });

  it('is recognized by class, so that a derived error does the same', async () => {
    class NoSuchAccount extends UnrecoverableError {}
    const { producer, events, payments } = await start();
    payments.respond = () => {
      throw new NoSuchAccount('42');
    };
    await producer.publish('payments', 1);
    expect((await events.dead.first()).failure).toMatchObject({ reason: 'unrecoverable', name: 'NoSuchAccount' });
  });
});
