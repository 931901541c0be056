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
import { start as boot, useKitBed } from '../support/kit/kit-bed.js';

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

function idsOf(messages: readonly { id: string }[]): string[] {
  return messages.map(({ id }) => id).toSorted();
}

async function start() {
  const bed = await boot({ providers: [Payments] });
  const { app, harness, producer } = bed;
  /** Publishes messages whose attempts all fail. */
  const die = async (ids: readonly string[], fails = 'declined', key?: string): Promise<void> => {
    await producer.publishMany(
      'payments',
      ids.map((id) => ({ payload: { fails }, options: { id, headers: { trace: id }, ...(key && { key }) } })),
    );
    await harness.settle();
  };
  const dead = (): string[] => idsOf(harness.deadLetters('payments'));
  const waiting = (): string[] => idsOf(harness.scheduled('payments'));
  return { ...bed, payments: app.get(Payments), die, dead, waiting };
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

  it.each<[what: string, filter: DeadLetterFilter, ids: string[]]>([
    ['all', { all: true }, ['a', 'b', 'c', 'x']],
    ['its reason', { reason: 'failed' }, ['a', 'b', 'c', 'x']],
    ['another reason, none', { reason: 'expired' }, []],
    ['its key', { key: 'customer-7' }, ['x']],
    ['the id if there is no key', { key: 'a' }, ['a']],
    ['since', { since: Date.UTC(2026, 0, 1, 1) }, ['c', 'x']],
    ['until', { until: new Date(Date.UTC(2026, 0, 1, 1)) }, ['a', 'b']],
    ['both and a key', { since: 0, until: Date.UTC(2026, 0, 1, 1), key: 'b' }, ['b']],
  ])('takes those that fit a filter: %s', async (_, filter, ids) => {
    const { harness, admin, die, dead, waiting } = await start();
    await harness.advance('30m');
    await die(['a', 'b']);
    await harness.advance('1h');
    await die(['c']);
    await die(['x'], 'declined', 'customer-7');

    const dry = await admin.requeue('payments', filter, { dryRun: true });
    expect(dry).toMatchObject({ matched: ids.length, changed: 0, aborted: false });
    expect(dead()).toEqual(['a', 'b', 'c', 'x']);

    expect(await admin.requeue('payments', filter, { delay: '1d' })).toMatchObject({ changed: ids.length });
    expect(waiting()).toEqual(ids);
    expect(dead()).toEqual(['a', 'b', 'c', 'x'].filter((id) => !ids.includes(id)));
  });

  it('keeps to a rate, and ends although what it requeues dies again', async () => {
    const { harness, admin, die, dead, waiting } = await start();
    await die(Array.from({ length: 500 }, (_, i) => `m-${i}`));
    const again = admin.requeue('payments', { all: true }, { rate: 1000 });
    await harness.advance('2s');
    expect(await again).toEqual({ matched: 500, changed: 500, aborted: false });
    expect(dead()).toHaveLength(500);

    const requeuing = admin.requeue('payments', { all: true }, { rate: 10, delay: '1h' });
    const seen: number[] = [];
    for (let second = 0; second < 10; second++) {
      await harness.settle();
      seen.push(waiting().length);
      await harness.advance('1s');
    }
    await harness.advance('1m');
    expect(await requeuing).toMatchObject({ changed: 500 });
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
    const aborted = await admin.requeue('payments', { all: true }, { signal: controller.signal });
    expect(aborted).toMatchObject({ matched: 0, aborted: true });
  });

  it('counts right although a reply is lost', async () => {
    const { harness, admin, die } = await start();
    await die(['a', 'b', 'c']);
    harness.failNext('requeueDead', { lostReply: true, times: 2 });
    const requeuing = admin.requeue('payments', { all: true }, { delay: '1h' });
    await harness.advance('1s');
    expect(await requeuing).toEqual({ matched: 3, changed: 3, aborted: false });
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
  const all = { all: true };

  it.each<[says: string, which: unknown, options?: unknown]>([
    ['The filter of dead letters must be an object', undefined],
    ['must be an object', null],
    ['id must be a string of 1 to 256', ''],
    ["no option 'keys'", { id: 'a', keys: 'b' }],
    ['key must be a string', { id: 'a' }],
    ["no option 'reasons'", { reasons: 'failed' }],
    ["reason must be one of 'failed'", { reason: 'boring' }],
    ['since must be a valid Date', { since: new Date(NaN) }],
    ['since must be before until', { since: 5, until: 5 }],
    ['fingerprint must be', { fingerprint: 'abc' }],
    ["no option 'rates'", all, { rates: 5 }],
    ['rate must be a number', all, { rate: 0 }],
    ['rate must be a number', all, { rate: Infinity }],
    ['signal must be an AbortSignal', all, { signal: {} }],
    ['dryRun must be true or false', all, { dryRun: 'no' }],
    ['delay must be between', all, { delay: '11y' }],
    ['payload is for a single dead letter', all, { payload: 1 }],
  ])('is refused before anything is changed: %s, for %o with %o', async (says, which, options) => {
    const { admin, die, dead } = await start();
    await die(['a']);
    const requeuing = admin.requeue('payments', which as DeadLetterFilter, options as RequeueOptions);
    await expect(requeuing).rejects.toThrow(InvalidArgumentError);
    await expect(requeuing).rejects.toThrow(says);
    expect(dead()).toEqual(['a']);
  });

  it('is refused, for a payload that cannot be stored', async () => {
    const { admin, die, dead } = await start();
    await die(['a']);
    const typed = topic('payments', { schema: z.object({ amount: z.number() }) });
    const large = 'x'.repeat(1024 * 1024 + 1);
    for (const [to, payload, refusal] of [
      ['payments', 1n, SerializationError],
      ['payments', large, PayloadTooLargeError],
      [typed, { amount: 'much' }, InvalidPayloadError],
    ] as const) {
      await expect(admin.requeue(to, 'a', { payload })).rejects.toThrow(refusal);
    }
    const dry = await admin.requeue(typed, 'a', { payload: { amount: 1 }, dryRun: true });
    expect(dry).toMatchObject({ matched: 1, changed: 0, aborted: false });
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
    const fingerprint = groups[0]?.fingerprint ?? '';
    expect(await admin.requeue('payments', { fingerprint }, { delay: '1h' })).toMatchObject({ changed: 4 });
    expect(dead()).toEqual(['d']);
    expect(await admin.deadLetterGroups('unused')).toEqual({ total: 0, groups: [], ungrouped: 0 });
  });
});
