import { Injectable } from '@nestjs/common';
import { type DelayedMessage, DelayedHandler, DuplicateMessageError, UnrecoverableError } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { Recorder } from '../support/app/recorder.js';
import { eventually, Gate } from '../support/waiting.js';

interface Reminder {
  readonly text: string;
}

@Injectable()
class Reminders extends Recorder<Reminder> {
  @DelayedHandler('reminders')
  async remind(payload: Reminder, message: DelayedMessage<Reminder>) {
    return this.take(payload, message);
  }
}

const bed = useBed();

async function start() {
  const app = await bed.start({ providers: [Reminders], options: { defaults: { partitions: 1 } } });
  const { producer, events } = app;
  return { app, producer, events, reminders: app.get(Reminders), partition: bed.partition('reminders') };
}

describe('publishing an id that exists', () => {
  it('is refused, and neither payload nor due time of the first message changes', async () => {
    const { producer, reminders, partition } = await start();
    const first = await producer.publish('reminders', { text: 'first' }, { id: 'a', delay: 400 });
    const stored = await partition.envelope('a');
    const again = producer.publish('reminders', { text: 'second' }, { id: 'a', delay: 0 });

    await expect(again).rejects.toThrow(DuplicateMessageError);
    await expect(again).rejects.toMatchObject({ code: 'DUPLICATE_MESSAGE', topic: 'reminders', id: 'a' });
    await expect(again).rejects.toThrow(/'reminders'.*'a'.*'ignore'.*'replace'/);
    expect(await partition.envelope('a')).toBe(stored);
    expect(await partition.dueAt('a')).toBe(first.dueAt.getTime());

    const [call] = await reminders.called();
    expect(call?.payload).toEqual({ text: 'first' });
    expect(call?.message.dueAt).toEqual(first.dueAt);
  });

  it('is refused while the first message is being handled', async () => {
    const { producer, events, reminders } = await start();
    const gate = new Gate();
    reminders.respond = async () => gate.opened;
    await producer.publish('reminders', { text: 'first' }, { id: 'a' });
    await reminders.called();
    await expect(producer.publish('reminders', { text: 'second' }, { id: 'a' })).rejects.toThrow(DuplicateMessageError);
    gate.open();
    await events.acked.first();
    expect(reminders.calls).toHaveLength(1);
  });

  it('is accepted again once the first message is acknowledged', async () => {
    const { producer, events, reminders } = await start();
    await producer.publish('reminders', { text: 'first' }, { id: 'a' });
    await events.acked.first();
    expect(await producer.publish('reminders', { text: 'second' }, { id: 'a' })).toMatchObject({ duplicate: false });
    const calls = await reminders.called(2);
    expect(calls.map(({ payload }) => payload.text)).toEqual(['first', 'second']);
  });

  it('is refused if both come in the same call, and the earlier one is kept', async () => {
    const { producer, reminders } = await start();
    const results = await Promise.allSettled(
      ['first', 'second'].map(async (text) => producer.publish('reminders', { text }, { id: 'a' })),
    );
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    const [call] = await reminders.called();
    expect(call?.payload.text).toBe('first');
  });

  it('is accepted under another key, and both messages are delivered', async () => {
    const { producer, reminders } = await start();
    await producer.publish('reminders', { text: 'first' }, { id: 'a', key: 'x' });
    const second = await producer.publish('reminders', { text: 'second' }, { id: 'a', key: 'y' });
    expect(second.duplicate).toBe(false);
    const calls = await reminders.called(2);
    expect(calls.map(({ message }) => `${message.id}/${message.key}`).toSorted()).toEqual(['a/x', 'a/y']);
  });

  it("with onDuplicate 'earliest' keeps the first message, due at the earlier time", async () => {
    const { producer, reminders, partition } = await start();
    const first = await producer.publish('reminders', { text: 'first' }, { id: 'a', delay: '1h', headers: { n: '1' } });
    const stored = await partition.envelope('a');
    const late = await producer.publish('reminders', { text: 'x' }, { id: 'a', delay: '2h', onDuplicate: 'earliest' });
    const early = await producer.publish('reminders', { text: 'x' }, { id: 'a', delay: 50, onDuplicate: 'earliest' });

    expect(late).toEqual({ ...first, duplicate: true });
    expect(early.duplicate).toBe(true);
    expect(early.dueAt.getTime()).toBeLessThan(first.dueAt.getTime() - 3_000_000);
    expect([stored, early.dueAt.getTime()]).toEqual([await partition.envelope('a'), await partition.dueAt('a')]);
    const [call] = await reminders.called();
    expect(call).toMatchObject({ payload: { text: 'first' }, message: { headers: { n: '1' }, dueAt: early.dueAt } });
  });

  it("with onDuplicate 'ignore' says so and changes nothing", async () => {
    const { producer, reminders, partition } = await start();
    const first = await producer.publish('reminders', { text: 'first' }, { id: 'a', delay: 400 });
    const stored = await partition.envelope('a');
    const again = await producer.publish('reminders', { text: '2nd' }, { id: 'a', delay: 0, onDuplicate: 'ignore' });

    expect(first.duplicate).toBe(false);
    expect(again).toEqual({ ...first, duplicate: true });
    expect(await partition.envelope('a')).toBe(stored);
    expect(await partition.dueAt('a')).toBe(first.dueAt.getTime());

    const [call] = await reminders.called();
    expect(call?.payload).toEqual({ text: 'first' });
    expect(call?.message.dueAt).toEqual(first.dueAt);
  });
});

describe("publishing an id that exists with onDuplicate 'replace'", () => {
  it.each([
    { what: 'a later', before: 400, after: 600 },
    { what: 'an earlier', before: 3_600_000, after: 400 },
  ])('gives the message the new payload and $what due time, and delivers it once', async ({ before, after }) => {
    const { producer, reminders, partition, events } = await start();
    await producer.publish('reminders', { text: 'first' }, { id: 'a', delay: before });
    const second = await producer.publish(
      'reminders',
      { text: 'second' },
      { id: 'a', delay: after, onDuplicate: 'replace' },
    );
    expect(second).toMatchObject({ id: 'a', duplicate: true });
    expect(await partition.payload('a')).toEqual({ text: 'second' });
    expect(await partition.dueAt('a')).toBe(second.dueAt.getTime());

    // Due after both, in the same partition: once it is delivered, no delivery of 'a' can follow.
    await producer.publish('reminders', { text: 'last' }, { id: 'z', deliverAt: second.dueAt.getTime() + 60 });
    await events.acked.first(({ id }) => id === 'z');
    expect(reminders.ids).toEqual(['a', 'z']);
    expect(reminders.calls[0]?.payload).toEqual({ text: 'second' });
    expect(reminders.calls[0]?.message.dueAt).toEqual(second.dueAt);
  });

  it('is a plain publish if the id is new', async () => {
    const { producer, reminders } = await start();
    const only = await producer.publish('reminders', { text: 'only' }, { id: 'a', onDuplicate: 'replace' });
    expect(only.duplicate).toBe(false);
    await reminders.called();
  });

  it('applies the options of the new message, not those of the old', async () => {
    const { producer, reminders } = await start();
    const old = { id: 'a', delay: '1h', attempts: 2, headers: { from: 'old' } };
    await producer.publish('reminders', { text: 'first' }, old);
    await producer.publish('reminders', { text: 'second' }, { id: 'a', attempts: 9, onDuplicate: 'replace' });
    const [call] = await reminders.called();
    expect(call?.message).toMatchObject({ attempt: 1, maxAttempts: 9, headers: {} });
  });

  it('brings a dead letter back as the new message', async () => {
    const { producer, reminders, events, partition } = await start();
    reminders.respond = ({ text }) => {
      if (text === 'first') throw new UnrecoverableError('never');
    };
    await producer.publish('reminders', { text: 'first' }, { id: 'a' });
    await events.dead.first();
    await expect(producer.publish('reminders', { text: 'x' }, { id: 'a' })).rejects.toThrow(DuplicateMessageError);
    await producer.publish('reminders', { text: 'second' }, { id: 'a', onDuplicate: 'replace' });
    expect(await events.acked.first()).toMatchObject({ id: 'a', attempt: 1 });
    expect(await partition.dead()).toEqual([]);
    expect(await partition.failure('a')).toBeUndefined();
  });
});

/** Publishes 'first', replaces it while its handler runs, and then ends that run with `ending`. */
async function replaceWhileHandled(ending: () => void) {
  const setting = await start();
  const { producer, reminders, events } = setting;
  const gate = new Gate();
  const spans: { text: string; from: number; to: number }[] = [];
  reminders.respond = async ({ text }) => {
    const from = performance.now();
    try {
      if (text !== 'first') return;
      await gate.opened;
      ending();
    } finally {
      spans.push({ text, from, to: performance.now() });
    }
  };
  await producer.publish('reminders', { text: 'first' }, { id: 'a' });
  await reminders.called();
  const second = await producer.publish('reminders', { text: 'second' }, { id: 'a', onDuplicate: 'replace' });
  expect(second.duplicate).toBe(true);

  // Due later in the same partition, handled while 'first' still runs: 'second' would have come before it.
  await producer.publish('reminders', { text: 'between' }, { id: 'b', delay: 50 });
  await events.acked.first(({ id }) => id === 'b');
  expect(reminders.callsOf('a')).toHaveLength(1);
  gate.open();
  await reminders.called(3);
  return { ...setting, spans };
}

describe('replacing a message while it is being handled', () => {
  it('delivers the second after the first has ended, never at the same time', async () => {
    const { reminders, spans } = await replaceWhileHandled(() => {});
    await eventually(() => expect(spans).toHaveLength(3));
    const [first, second] = ['first', 'second'].map((text) => spans.find((span) => span.text === text));
    expect(second?.from).toBeGreaterThanOrEqual(first?.to ?? Infinity);
    expect(reminders.callsOf('a').map(({ payload }) => payload.text)).toEqual(['first', 'second']);
  });

  it('delivers the second with its whole budget if the first has failed', async () => {
    const { reminders } = await replaceWhileHandled(() => {
      throw new Error('first failed');
    });
    const [, second] = reminders.callsOf('a');
    expect(second?.message).toMatchObject({ attempt: 1, payload: { text: 'second' } });
  });

  it('delivers the second and reports no dead letter if the first was unrecoverable', async () => {
    const { events, partition } = await replaceWhileHandled(() => {
      throw new UnrecoverableError('first is hopeless');
    });
    expect(await partition.dead()).toEqual([]);
    expect(events.dead.past).toEqual([]);
  });

  it('in its own handler delivers it again and again, one at a time', async () => {
    const { producer, reminders, events } = await start();
    let most = 0;
    reminders.respond = async ({ text }, { id, attempt }) => {
      most = Math.max(most, reminders.running);
      expect(attempt).toBe(1);
      if (text.length < 5) await producer.publish('reminders', { text: `${text}x` }, { id, onDuplicate: 'replace' });
    };
    await producer.publish('reminders', { text: 'x' }, { id: 'a' });
    await events.acked.take(5);
    expect(reminders.calls.map(({ payload }) => payload.text)).toEqual(['x', 'xx', 'xxx', 'xxxx', 'xxxxx']);
    expect(most).toBe(1);
  });

  it('and then cancelling it leaves nothing to deliver', async () => {
    const { producer, reminders, events, partition } = await start();
    const gate = new Gate();
    reminders.respond = async ({ text }) => (text === 'first' ? gate.opened : undefined);
    await producer.publish('reminders', { text: 'first' }, { id: 'a' });
    await reminders.called();
    await producer.publish('reminders', { text: 'second' }, { id: 'a', onDuplicate: 'replace' });
    expect(await producer.cancel('reminders', 'a')).toBe('in-flight');
    gate.open();
    await eventually(async () => expect(await partition.envelope('a')).toBeUndefined());
    await producer.publish('reminders', { text: 'last' }, { id: 'z' });
    await events.acked.first(({ id }) => id === 'z');
    expect(reminders.ids).toEqual(['a', 'z']);
  });

  it('after a cancel delivers the new message', async () => {
    const { producer, reminders } = await start();
    const gate = new Gate();
    reminders.respond = async ({ text }) => (text === 'first' ? gate.opened : undefined);
    await producer.publish('reminders', { text: 'first' }, { id: 'a' });
    await reminders.called();
    expect(await producer.cancel('reminders', 'a')).toBe('in-flight');
    await producer.publish('reminders', { text: 'second' }, { id: 'a', onDuplicate: 'replace' });
    gate.open();
    const [, second] = await reminders.called(2);
    expect(second).toMatchObject({ payload: { text: 'second' }, message: { id: 'a', attempt: 1 } });
  });
});
