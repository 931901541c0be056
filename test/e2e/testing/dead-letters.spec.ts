import { Injectable } from '@nestjs/common';
import {
  type DelayedMessage,
  DelayedHandler,
  InvalidArgumentError,
  InvalidPayloadError,
  PayloadTooLargeError,
  SerializationError,
  topic,
} from 'nestjs-delay-queue';
import type { DeadLetterFilter, RequeueOptions } from 'nestjs-delay-queue/admin';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { start as boot, useKitBed } from '../../support/kit/kit-bed.js';

interface Charge {
  readonly fails?: string;
}

@Injectable()
class Payments {
  readonly calls: { payload: Charge; message: DelayedMessage<Charge> }[] = [];

  @DelayedHandler('payments', { attempts: 2, backoff: { type: 'fixed', delay: 0 } })
  collect(payload: Charge, message: DelayedMessage<Charge>): void {
    this.calls.push({ payload, message });
    if (payload.fails !== undefined) throw Object.assign(new Error(payload.fails), { code: 'E_PAY' });
  }
}

useKitBed();

async function start() {
  const { app, harness, producer, admin } = await boot({ providers: [Payments] });
  const payments = app.get(Payments);
  /** Publishes messages whose attempts all fail. */
  const die = async (ids: readonly string[], fails = 'declined', key?: string): Promise<void> => {
    await producer.publishMany(
      'payments',
      ids.map((id) => ({ payload: { fails }, options: { id, headers: { trace: id }, ...(key && { key }) } })),
    );
    await harness.settle();
  };
  const dead = (): string[] =>
    harness
      .deadLetters('payments')
      .map(({ id }) => id)
      .toSorted();
  return { harness, producer, admin, payments, die, dead };
}

describe('requeue', () => {
  it('delivers a dead letter again with all of its attempts, as it was published', async () => {
    const { harness, admin, payments, die, dead } = await start();
    await die(['a', 'b']);
    payments.calls.length = 0;

    expect(await admin.requeue('payments', 'a')).toEqual({ matched: 1, changed: 1, aborted: false });
    await harness.settle();

    expect(payments.calls.map(({ message: { id, attempt, headers } }) => [id, attempt, headers])).toEqual([
      ['a', 1, { trace: 'a' }],
      ['a', 2, { trace: 'a' }],
    ]);
    expect(dead()).toEqual(['a', 'b']);
    expect(await admin.get('payments', 'a')).toMatchObject({ deliveries: 4, attempts: 2 });
  });

  it('finds a message by id and key, and by its id alone', async () => {
    const { harness, admin, die } = await start();
    await die(['a'], 'declined', 'customer-7');
    await harness.settle();
    expect(await admin.requeue('payments', { id: 'a', key: 'other' })).toMatchObject({ matched: 0 });
    expect(await admin.requeue('payments', { id: 'a', key: 'customer-7' })).toMatchObject({ changed: 1 });
    await harness.settle();
    expect(await admin.requeue('payments', 'a', { delay: '1h' })).toMatchObject({ changed: 1 });
    expect(await admin.get('payments', 'a')).toMatchObject({ state: 'scheduled', key: 'customer-7' });
  });

  it('takes a new payload, and keeps headers and options', async () => {
    const { harness, admin, payments, die, dead } = await start();
    await die(['a']);
    payments.calls.length = 0;
    expect(await admin.requeue('payments', 'a', { payload: {}, delay: '10m' })).toMatchObject({ changed: 1 });
    await harness.advance('9m');
    expect(payments.calls).toEqual([]);
    await harness.advance('1m');
    expect(payments.calls).toMatchObject([{ payload: {}, message: { id: 'a', headers: { trace: 'a' } } }]);
    expect(dead()).toEqual([]);
  });

  it.each<{ what: string; filter: DeadLetterFilter; ids: string[] }>([
    { what: 'all', filter: { all: true }, ids: ['a', 'b', 'c', 'x'] },
    { what: 'its reason', filter: { reason: 'failed' }, ids: ['a', 'b', 'c', 'x'] },
    { what: 'another reason, none', filter: { reason: 'expired' }, ids: [] },
    { what: 'its key', filter: { key: 'customer-7' }, ids: ['x'] },
    { what: 'the id if there is no key', filter: { key: 'a' }, ids: ['a'] },
    { what: 'since', filter: { since: Date.UTC(2026, 0, 1, 1) }, ids: ['c', 'x'] },
    { what: 'until', filter: { until: new Date(Date.UTC(2026, 0, 1, 1)) }, ids: ['a', 'b'] },
    { what: 'both and a key', filter: { since: 0, until: Date.UTC(2026, 0, 1, 1), key: 'b' }, ids: ['b'] },
  ])('takes those that fit a filter: $what', async ({ filter, ids }) => {
    const { harness, admin, die, dead } = await start();
    await harness.advanceTo(Date.UTC(2026, 0, 1, 0, 30));
    await die(['a', 'b']);
    await harness.advance('1h');
    await die(['c']);
    await die(['x'], 'declined', 'customer-7');

    expect(await admin.requeue('payments', filter, { dryRun: true })).toMatchObject({
      matched: ids.length,
      changed: 0,
      aborted: false,
    });
    expect(dead()).toEqual(['a', 'b', 'c', 'x']);

    expect(await admin.requeue('payments', filter, { delay: '1d' })).toMatchObject({ changed: ids.length });
    expect(
      harness
        .scheduled('payments')
        .map(({ id }) => id)
        .toSorted(),
    ).toEqual(ids);
    expect(dead()).toEqual(['a', 'b', 'c', 'x'].filter((id) => !ids.includes(id)));
  });

  it('ends although what it requeues dies again', async () => {
    const { harness, admin, die } = await start();
    await die(Array.from({ length: 500 }, (_, i) => `m-${i}`));
    const requeuing = admin.requeue('payments', { all: true }, { rate: 1000 });
    await harness.advance('2s');
    expect(await requeuing).toEqual({ matched: 500, changed: 500, aborted: false });
  });

  it('keeps to a rate', async () => {
    const { harness, admin, die } = await start();
    await die(Array.from({ length: 100 }, (_, i) => `m-${i}`));
    const requeuing = admin.requeue('payments', { all: true }, { rate: 10, delay: '1h' });
    const seen: number[] = [];
    for (let second = 0; second < 10; second++) {
      await harness.settle();
      seen.push(harness.scheduled('payments').length);
      await harness.advance('1s');
    }
    expect(await requeuing).toMatchObject({ changed: 100 });
    // One at once, then one a tenth of a second.
    expect(seen).toEqual([1, 11, 21, 31, 41, 51, 61, 71, 81, 91]);
  });

  it('stops when its signal aborts, and tells how far it came', async () => {
    const { harness, admin, die, dead } = await start();
    await die(['a', 'b', 'c']);
    const controller = new AbortController();
    const requeuing = admin.requeue('payments', { all: true }, { rate: 1, delay: '1h', signal: controller.signal });
    await harness.advance('1500ms');
    controller.abort();
    expect(await requeuing).toEqual({ matched: 2, changed: 2, aborted: true });
    expect(dead()).toHaveLength(1);
    expect(await admin.requeue('payments', { all: true }, { signal: controller.signal })).toMatchObject({
      matched: 0,
      aborted: true,
    });
  });

  it('counts right although a reply is lost', async () => {
    const { harness, admin, die } = await start();
    await die(['a', 'b', 'c']);
    harness.failNext('requeueDead', { lostReply: true, times: 2 });
    const requeuing = admin.requeue('payments', { all: true }, { delay: '1h' });
    await harness.advance('1s');
    expect(await requeuing).toEqual({ matched: 3, changed: 3, aborted: false });
  });

  it('finds no message in a topic that was never used, and refuses to go through it', async () => {
    const { admin } = await start();
    await expect(admin.requeue('unused', { all: true })).rejects.toThrow(InvalidArgumentError);
    await expect(admin.remove('unused', { reason: 'failed' })).rejects.toThrow("There is no topic 'unused'");
    expect(await admin.requeue('unused', 'a')).toEqual({ matched: 0, changed: 0, aborted: false });
    expect(await admin.remove('unused', 'a')).toEqual({ matched: 0, changed: 0, aborted: false });
  });

  it('leaves a message alone that is no dead letter', async () => {
    const { producer, admin } = await start();
    await producer.publish('payments', {}, { id: 'a', delay: '1h' });
    expect(await admin.requeue('payments', 'a')).toMatchObject({ matched: 0 });
    expect(await admin.remove('payments', 'a')).toMatchObject({ matched: 0 });
    expect(await admin.get('payments', 'a')).toMatchObject({ state: 'scheduled' });
  });
});

describe('remove', () => {
  it('removes one, and those that fit a filter', async () => {
    const { admin, die, dead } = await start();
    await die(['a', 'b', 'c']);
    expect(await admin.remove('payments', 'b')).toEqual({ matched: 1, changed: 1, aborted: false });
    expect(await admin.get('payments', 'b')).toBeUndefined();
    expect(await admin.remove('payments', { key: 'a' }, { dryRun: true })).toMatchObject({ matched: 1, changed: 0 });
    expect(dead()).toEqual(['a', 'c']);
    expect(await admin.remove('payments', { all: true })).toEqual({ matched: 2, changed: 2, aborted: false });
    expect(dead()).toEqual([]);
  });
});

describe('what cannot be done', () => {
  it.each<{ what: string; which: unknown; options?: unknown; says: string }>([
    {
      what: 'nothing, which is not everything',
      which: undefined,
      says: 'The filter of dead letters must be an object',
    },
    { what: 'null', which: null, says: 'must be an object' },
    { what: 'an empty id', which: '', says: 'id must be a string of 1 to 256' },
    { what: 'an id with something else', which: { id: 'a', keys: 'b' }, says: "no option 'keys'" },
    { what: 'an id without the key that was begun', which: { id: 'a' }, says: 'key must be a string' },
    { what: 'an unknown part of a filter', which: { reasons: 'failed' }, says: "no option 'reasons'" },
    { what: 'an unknown reason', which: { reason: 'boring' }, says: "reason must be one of 'failed'" },
    { what: 'a time that is none', which: { since: new Date(NaN) }, says: 'since must be a valid Date' },
    { what: 'times the wrong way round', which: { since: 5, until: 5 }, says: 'since must be before until' },
    { what: 'a fingerprint that is none', which: { fingerprint: 'abc' }, says: 'fingerprint must be' },
    { what: 'an unknown option', which: { all: true }, options: { rates: 5 }, says: "no option 'rates'" },
    { what: 'a rate of nothing', which: { all: true }, options: { rate: 0 }, says: 'rate must be a number' },
    { what: 'an endless rate', which: { all: true }, options: { rate: Infinity }, says: 'rate must be a number' },
    {
      what: 'a signal that is none',
      which: { all: true },
      options: { signal: {} },
      says: 'signal must be an AbortSignal',
    },
    {
      what: 'dryRun as a string',
      which: { all: true },
      options: { dryRun: 'no' },
      says: 'dryRun must be true or false',
    },
    { what: 'a delay of 11 years', which: { all: true }, options: { delay: '11y' }, says: 'delay must be between' },
    {
      what: 'one payload for many',
      which: { all: true },
      options: { payload: 1 },
      says: 'payload is for a single dead letter',
    },
  ])('is refused before anything is changed: $what', async ({ which, options, says }) => {
    const { admin, die, dead } = await start();
    await die(['a']);
    const requeuing = admin.requeue('payments', which as DeadLetterFilter, options as RequeueOptions);
    const error: unknown = await requeuing.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect((error as Error).message).toContain(says);
    expect(dead()).toEqual(['a']);
  });

  it('is refused, for a payload that cannot be stored', async () => {
    const { admin, die, dead } = await start();
    await die(['a']);
    const typed = topic('payments', { schema: z.object({ amount: z.number() }) });
    await expect(admin.requeue('payments', 'a', { payload: 1n })).rejects.toBeInstanceOf(SerializationError);
    const large = 'x'.repeat(1024 * 1024 + 1);
    await expect(admin.requeue('payments', 'a', { payload: large })).rejects.toBeInstanceOf(PayloadTooLargeError);
    await expect(admin.requeue(typed, 'a', { payload: { amount: 'much' } })).rejects.toBeInstanceOf(
      InvalidPayloadError,
    );
    expect(dead()).toEqual(['a']);
    expect(await admin.requeue(typed, 'a', { payload: { amount: 1 }, dryRun: true })).toMatchObject({
      matched: 1,
      changed: 0,
      aborted: false,
    });
    expect(dead()).toEqual(['a']);
  });
});

describe('deadLetterGroups', () => {
  it('has those that died of the same together, and its fingerprint is a filter', async () => {
    const { harness, admin, die, dead } = await start();
    await die(['a', 'b', 'c'], 'card 4711 declined');
    await die(['d'], 'no account');
    await die(['e'], 'card 12 declined', 'customer-7');

    const { total, groups, ungrouped } = await admin.deadLetterGroups('payments');

    expect([total, ungrouped]).toEqual([5, 0]);
    expect(groups).toMatchObject([
      { count: 4, reason: 'failed', name: 'Error', code: 'E_PAY', pattern: 'card <n> declined', lastAt: harness.now },
      { count: 1, pattern: 'no account', example: { id: 'd', key: 'd' } },
    ]);
    const [cards] = groups;
    expect(await admin.requeue('payments', { fingerprint: cards?.fingerprint ?? '' }, { delay: '1h' })).toMatchObject({
      changed: 4,
    });
    expect(dead()).toEqual(['d']);
    expect(await admin.deadLetterGroups('unused')).toEqual({ total: 0, groups: [], ungrouped: 0 });
  });
});
