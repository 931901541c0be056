import { Injectable } from '@nestjs/common';
import { type DelayedMessage, DelayedHandler } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { Recorder } from '../support/app/recorder.js';
import { percentile, report } from '../support/readings/statistics.js';
import { eventually } from '../support/waiting.js';

const DAY = 24 * 3_600_000;

@Injectable()
class Alarms extends Recorder {
  @DelayedHandler('alarms')
  async ring(payload: unknown, message: DelayedMessage) {
    return this.take(payload, message);
  }
}

const bed = useBed();

async function start(partitions = 1) {
  // Nobody looks in time without a signal or a timer: what comes while a test waits has come by one of them.
  const options = { defaults: { partitions }, consumer: { maxIdleWait: '1m' } };
  const app = await bed.start({ providers: [Alarms], options });
  return { producer: app.producer, events: app.events, alarms: app.get(Alarms), partition: bed.partition('alarms') };
}

/** Collects the process's warnings while `action` runs. */
async function warningsDuring(action: () => Promise<void>): Promise<string[]> {
  const warnings: string[] = [];
  const note = (warning: Error) => warnings.push(warning.name);
  process.on('warning', note);
  try {
    await action();
    // Warnings are emitted in a turn of their own.
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    process.off('warning', note);
  }
  return warnings;
}

describe('a message far in the future', () => {
  it('does not fire now and does not overflow a timer if it is the first in its partition', async () => {
    const { producer, alarms, partition, events } = await start();
    const warnings = await warningsDuring(async () => {
      const now = await bed.time();
      const { dueAt } = await producer.publish('alarms', 'far', { id: 'far', delay: '40d' });
      expect(dueAt.getTime()).toBeGreaterThanOrEqual(now + 40 * DAY);
      expect(dueAt.getTime()).toBeLessThan(now + 40 * DAY + 5000);
      // The next one makes the consumer look at the partition and set its timer for 'far' again.
      await producer.publish('alarms', 'near', { id: 'near', delay: 100 });
      await events.acked.first(({ id }) => id === 'near');
      await producer.publish('alarms', 'now', { id: 'now' });
      await events.acked.first(({ id }) => id === 'now');
      expect(await partition.dueAt('far')).toBe(dueAt.getTime());
    });
    expect(alarms.ids).toEqual(['near', 'now']);
    expect(await partition.scheduled()).toEqual(['far']);
    expect(warnings).toEqual([]);
  });

  it('does not fire when a booting consumer finds it', async () => {
    const publisher = await bed.start({ options: { consumer: false, defaults: { partitions: 1 } } });
    await publisher.producer.publish('alarms', 'far', { id: 'far', delay: '9y' });
    await publisher.producer.publish('alarms', 'near', { id: 'near', delay: 50 });
    const warnings = await warningsDuring(async () => {
      const { alarms, events } = await start();
      await events.acked.first(({ id }) => id === 'near');
      expect(alarms.ids).toEqual(['near']);
    });
    expect(warnings).toEqual([]);
    expect(await bed.partition('alarms').scheduled()).toEqual(['far']);
  });
});

describe('a message that is due', () => {
  it.each([
    { what: 'delay 0', options: () => ({ delay: 0 }) },
    { what: "delay '0s'", options: () => ({ delay: '0s' }) },
    { what: 'no delay', options: () => ({}) },
    { what: 'a Date in the past', options: () => ({ deliverAt: new Date(Date.now() - DAY) }) },
    { what: 'deliverAt 0', options: () => ({ deliverAt: 0 }) },
  ])('is delivered at once: $what', async ({ options }) => {
    const { producer, alarms } = await start();
    // Waits for an hour, so that this is no longer the first message of the partition.
    await producer.publish('alarms', 'later', { delay: '1h' });
    await producer.publish('alarms', 'now', { id: 'now', ...options() });
    await alarms.called();
    expect(alarms.ids).toEqual(['now']);
  });

  it('is delivered before a message that fell due later, whatever the order of publishing', async () => {
    const { producer, alarms } = await start();
    const now = await bed.time();
    await Promise.all(
      [3, 1, 2].map(async (n) => producer.publish('alarms', n, { id: `${n}`, deliverAt: now + 200 + n })),
    );
    await alarms.called(3);
    expect(alarms.ids).toEqual(['1', '2', '3']);
  });

  it('does not come before what is due already, however long ago it asks to be', async () => {
    const publisher = await bed.start({ options: { consumer: false, defaults: { partitions: 1 } } });
    // Published within one millisecond, they are due at the same time, and come in the order of their ids.
    await publisher.producer.publish('alarms', 1, { id: 'a waiting one' });
    await publisher.producer.publish('alarms', 2, { id: 'b ancient', deliverAt: 0, expireAfter: '1h' });
    const { alarms } = await start();
    await alarms.called(2);
    expect(alarms.ids).toEqual(['a waiting one', 'b ancient']);
  });

  it('is delivered in the order of publishing if due times are equal and ids generated', async () => {
    const { producer, alarms } = await start();
    const deliverAt = (await bed.time()) + 100;
    const messages = Array.from({ length: 50 }, (_, payload) => ({ payload, options: { deliverAt } }));
    await producer.publishMany('alarms', messages);
    const calls = await alarms.called(50);
    expect(calls.map(({ payload }) => payload)).toEqual(messages.map(({ payload }) => payload));
  });
});

describe('the due time', () => {
  it.each([
    { what: 'a number', delay: 50, milliseconds: 50 },
    { what: 'a string', delay: '50ms', milliseconds: 50 },
    { what: 'a string in seconds', delay: '0.05s', milliseconds: 50 },
    { what: 'a fraction, rounded up', delay: 49.2, milliseconds: 50 },
  ])('of a delay follows the clock of Redis: $what', async ({ delay, milliseconds }) => {
    const { producer, alarms, partition } = await start();
    const before = await bed.time();
    const { dueAt } = await producer.publish('alarms', null, { id: 'a', delay });
    const after = await bed.time();
    expect(dueAt.getTime()).toBeGreaterThanOrEqual(before + milliseconds);
    expect(dueAt.getTime()).toBeLessThanOrEqual(Math.ceil(after) + milliseconds);
    const [call] = await alarms.called();
    expect(await bed.time()).toBeGreaterThanOrEqual(dueAt.getTime());
    expect(call?.message.dueAt).toEqual(dueAt);
    expect(await partition.scheduled()).toEqual([]);
  });

  it.each([
    { what: 'a number', as: (time: number) => time },
    { what: 'a Date', as: (time: number) => new Date(time) },
  ])('is that of deliverAt: $what', async ({ as }) => {
    const { producer, alarms } = await start();
    const at = Math.ceil(await bed.time()) + 80;
    const { dueAt } = await producer.publish('alarms', null, { deliverAt: as(at) });
    expect(dueAt).toEqual(new Date(at));
    const [call] = await alarms.called();
    expect(await bed.time()).toBeGreaterThanOrEqual(at);
    expect(call?.message.dueAt).toEqual(new Date(at));
  });

  it('is passed to the handler with the time of publishing', async () => {
    const { producer, alarms } = await start();
    const before = await bed.time();
    await producer.publish('alarms', null, { delay: 20 });
    const after = await bed.time();
    const [call] = await alarms.called();
    // The publisher's estimate of the server's clock is off by half a round trip at most, which a busy host makes long.
    expect(call?.message.publishedAt.getTime()).toBeGreaterThan(before - 1000);
    expect(call?.message.publishedAt.getTime()).toBeLessThan(after + 1000);
  });
});

describe('500 messages with random delays up to 500 ms', () => {
  it('none is early by the clock of Redis, and they are late by milliseconds', async () => {
    const { producer, alarms } = await start(8);
    const lateness: number[] = [];
    alarms.respond = async (_payload, message) => {
      lateness.push((await bed.time()) - message.dueAt.getTime());
    };
    const published = await Promise.all(
      Array.from({ length: 500 }, async () => producer.publish('alarms', null, { delay: Math.random() * 500 })),
    );
    await alarms.called(500);
    await eventually(() => expect(lateness).toHaveLength(500));
    expect(new Set(alarms.ids)).toEqual(new Set(published.map(({ id }) => id)));
    expect(Math.min(...lateness)).toBeGreaterThanOrEqual(0);
    // Half of them wait no longer than the longest delay: a busy host does not show in it, timers that are set again do.
    expect(percentile(lateness, 0.5)).toBeLessThan(500);
    report(
      `lateness of 500 messages by Redis TIME, asked in the handler: p50 ${percentile(lateness, 0.5).toFixed(2)} ms, ` +
        `p99 ${percentile(lateness, 0.99).toFixed(2)} ms, least ${Math.min(...lateness).toFixed(2)} ms`,
    );
  });
});
