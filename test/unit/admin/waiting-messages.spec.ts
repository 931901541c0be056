import { describe, expect, it } from 'vitest';
import type { DelayQueueAdmin } from '../../../lib/admin/delay-queue.admin.js';
import type { BulkOptions, BulkProgress, BulkResult } from '../../../lib/admin/bulk-options.js';
import type { MessageFilter } from '../../../lib/admin/message-filter.js';
import type { Receipt } from '../../../lib/store/deliveries/receipt.js';
import type { Partition } from '../../../lib/store/partition.js';
import { BrokerUnavailableError } from '../../../lib/errors/operation.errors.js';
import { InvalidArgumentError } from '../../../lib/errors/options.errors.js';
import { AdminBed, NOW, TOPIC } from '../../support/units/admin-bed.js';

const ALL = { all: true } as const;
const HOUR = 3_600_000;
const LATER = { deliverAt: NOW + HOUR };

type Act = (
  admin: DelayQueueAdmin,
  filter: MessageFilter,
  options?: BulkOptions,
  topic?: string,
) => Promise<BulkResult>;

const ACTS: readonly (readonly ['cancel' | 'reschedule' | 'runNow', Act])[] = [
  ['cancel', (admin, filter, options, topic = TOPIC) => admin.cancel(topic, filter, options)],
  ['reschedule', (admin, filter, options, topic = TOPIC) => admin.reschedule(topic, filter, LATER, options)],
  ['runNow', (admin, filter, options, topic = TOPIC) => admin.runNow(topic, filter, options)],
];

describe.each(ACTS)('%s of what a filter means', (operation, act) => {
  it('changes each of them once, with one call each, and nothing else', async () => {
    const bed = await AdminBed.open();
    for (let i = 0; i < 500; i++) await bed.publish(`m${i}`, { due: 1000 + i, ...(i % 2 === 0 && { tags: ['even'] }) });
    const told: BulkProgress[] = [];
    const onProgress = (progress: BulkProgress): void => void told.push(progress);

    expect(await act(bed.admin, { tag: 'even' }, { onProgress })).toEqual({
      matched: 250,
      changed: 250,
      ...(operation === 'cancel' && { inFlight: 0 }),
      aborted: false,
      examples: undefined,
    });
    expect(bed.count(operation)).toBe(250);
    expect(told.at(-1)).toEqual({ matched: 250, changed: 250 });
    expect(await bed.admin.stats(TOPIC)).toMatchObject({ scheduled: operation === 'cancel' ? 250 : 500 });
    const again = await act(bed.admin, { tag: 'even' });
    expect([again.matched, again.changed]).toEqual([0, 0]);
    expect((await act(bed.admin, ALL)).changed).toBe(250);
  });

  it('looks at nothing if its signal is aborted already', async () => {
    const bed = await AdminBed.open();
    await bed.publish('a');
    const options = { dryRun: true, signal: AbortSignal.abort() };
    expect(await act(bed.admin, { text: 'b' }, options)).toMatchObject({ matched: 0, aborted: true });
    expect(bed.count('peek')).toBe(0);
  });

  it('counts with three examples in a dry run, and changes nothing', async () => {
    const bed = await AdminBed.open();
    for (let i = 0; i < 10; i++) await bed.publish(`m${i}`, { payload: { n: i } });
    const steps: unknown[] = [];
    // To count needs no rate.
    const options = { dryRun: true, rate: 1, onProgress: (progress: BulkProgress) => void steps.push(progress) };
    const result = await act(bed.admin, { text: 'm' }, options);
    expect(steps.length).toBeLessThanOrEqual(4);
    expect(result).toMatchObject({ matched: 10, changed: 0, aborted: false });
    expect(result.examples?.map(({ id, payload }) => [id, payload])).toEqual(
      result.examples?.map(({ id }) => [id, { n: Number(id.slice(1)) }]),
    );
    expect(new Set(result.examples?.map(({ id }) => id)).size).toBe(3);
    expect([bed.count(operation), bed.count('appendAudit')]).toEqual([0, 0]);
  });

  it('counts only what it has changed, and only that takes of its rate', async () => {
    const bed = await AdminBed.open(1);
    for (const id of ['a', 'b']) await bed.publish(id);
    bed.around = async (call) => {
      if (call.operation === operation && bed.count(operation) === 1) {
        await bed.embedded.messages.cancel(bed.partitionOf('a'), { caller: 'other', sequence: 1 }, 'a');
      }
      return call.run();
    };
    expect(await act(bed.admin, ALL, { rate: 1 })).toMatchObject({ matched: 2, changed: 1 });
  });

  it('reads no more than may be meant', async () => {
    const bed = await AdminBed.open(2);
    for (let i = 0; i < 450; i++)
      await bed.publish(`m${i}`, { due: i < 200 ? 1000 : 10, key: 'k', ...(i < 250 && { tags: ['red'] }) });
    await bed.publish('other', { key: 'other', due: 2000 });
    const matchedBy = async (filter: MessageFilter): Promise<[number, number]> => {
      bed.calls.splice(0);
      const { matched } = await act(bed.admin, filter, { dryRun: true });
      return [matched, bed.count('peek')];
    };
    expect(await matchedBy({ key: 'k', to: NOW + 10 })).toEqual([0, 1]);
    // In order of their ids, not of their times.
    expect(await matchedBy({ key: 'k', tag: 'red', to: NOW + 1000 })).toEqual([50, 2]);
  });

  it('ends with what is under way if a call has failed, and goes on after that another time', async () => {
    const bed = await AdminBed.open(1);
    for (let i = 0; i < 40; i++) await bed.publish(`m${i}`);
    let running = 0;
    bed.around = async (call) => {
      if (call.operation !== operation) return call.run();
      if (bed.count(operation) === 8) throw new BrokerUnavailableError('gone', { transient: false });
      running++;
      await new Promise(setImmediate);
      running--;
      return call.run();
    };
    await expect(act(bed.admin, ALL)).rejects.toThrow(BrokerUnavailableError);
    expect([running, bed.count(operation)]).toEqual([0, 16]);
    expect((await bed.admin.audit()).entries).toMatchObject([{ phase: 'failed' }, { phase: 'begun' }]);
    expect(await act(bed.admin, ALL)).toMatchObject({ matched: 25, changed: 25 });
  });

  it('repeats a call under its name until it is served', async () => {
    const bed = await AdminBed.open();
    await bed.publish('a');
    bed.around = async (call) => {
      const result = await call.run();
      if (call.operation === operation && bed.count(operation) === 1) throw new BrokerUnavailableError('lost');
      return result;
    };
    const acting = act(bed.admin, ALL);
    await bed.clock.advance(1000);
    expect(await acting).toMatchObject({ matched: 1, changed: 1 });
    const names = bed.calls.filter((call) => call.operation === operation).map(({ args }) => args[1]);
    expect([names.length, names[1]]).toEqual([2, names[0]]);
  });

  it('has 16 calls under way at a time, and only one of each caller', async () => {
    const bed = await AdminBed.open(1);
    for (let i = 0; i < 100; i++) await bed.publish(`m${i}`);
    const running: unknown[] = [];
    const most = { calls: 0, ofCaller: 0 };
    bed.around = async (call) => {
      if (call.operation !== operation) return call.run();
      const { caller } = call.args[1];
      running.push(caller);
      most.calls = Math.max(most.calls, running.length);
      most.ofCaller = Math.max(most.ofCaller, running.filter((one) => one === caller).length);
      const result = await call.run();
      running.splice(running.indexOf(caller), 1);
      return result;
    };
    expect(await act(bed.admin, ALL)).toMatchObject({ matched: 100, changed: 100 });
    expect(most).toEqual({ calls: 16, ofCaller: 1 });
  });

  it('changes all of an ordered topic, whatever waits behind what', async () => {
    const bed = await AdminBed.open(1, 'continue');
    const dues = { a: 100_000, b: 50_000, c: 200_000, d: 300_000, e: 10_000 };
    for (const [id, due] of Object.entries(dues)) await bed.publish(id, { due, key: id === 'e' ? 'other' : 'k' });
    expect(await act(bed.admin, ALL, { dryRun: true })).toMatchObject({ matched: 5 });
    expect(await act(bed.admin, ALL)).toMatchObject({ matched: 5, changed: 5 });
    expect(bed.count(operation)).toBe(5);
    // Those that wait behind another are read again, if one of them may have been moved before it.
    expect(bed.count('peek')).toBe(2 + (operation === 'cancel' ? 2 : 3));
  });

  it('meets what has a tag once in an ordered topic', async () => {
    const bed = await AdminBed.open(1, 'continue');
    for (const id of ['a', 'b']) await bed.publish(id, { key: 'k', tags: ['red'] });
    expect(await act(bed.admin, { tag: 'red' }, { dryRun: true })).toMatchObject({ matched: 2 });
  });

  it('writes down that it begins and how it has ended', async () => {
    const bed = await AdminBed.open();
    await bed.publish('a');
    await act(bed.admin, { text: 'a' }, { actor: 'ann', rate: 50 });
    const given = { text: 'a', rate: 50, ...(operation === 'reschedule' && LATER) };
    expect((await bed.admin.audit()).entries).toMatchObject([
      { action: operation, actor: 'ann', given, phase: 'done', result: { matched: 1, changed: 1 } },
      { action: operation, actor: 'ann', given, phase: 'begun' },
    ]);
  });

  it('goes as fast as its rate allows, and ends when it is told to', async () => {
    const bed = await AdminBed.open(2);
    for (let i = 0; i < 30; i++) await bed.publish(`m${i}`, { due: HOUR + i });
    const stop = new AbortController();
    const acting = act(bed.admin, ALL, { rate: 5, signal: stop.signal });
    await bed.clock.advance(450);
    const turns = bed.calls
      .filter((call) => call.operation === operation)
      .map(({ args }) => (args[0] as Partition).index);
    expect(turns).toEqual([0, 1, 0]);
    stop.abort();
    expect(await acting).toMatchObject({ matched: 3, changed: 3, aborted: true });
  });

  it.each<[string, unknown, unknown?]>([
    ['no filter', undefined],
    ['null', null],
    ['an empty filter', {}],
    ['a filter that says nothing', { tag: undefined }],
    ['an id that is not there', { id: undefined, key: 'k' }],
    ['all and a tag', { all: true, tag: 'red' }],
    ['an unknown option', ALL, { limit: 5 }],
    ['a rate of 0', ALL, { rate: 0 }],
    ['a rate without end', ALL, { rate: Infinity }],
    ['no signal', ALL, { signal: {} }],
    ['no actor', ALL, { actor: '' }],
    ['a dry run that is not said clearly', ALL, { dryRun: 'yes' }],
  ])('refuses %s, and asks for nothing', async (_what, filter, options) => {
    const bed = await AdminBed.open();
    await expect(act(bed.admin, filter as MessageFilter, options as BulkOptions)).rejects.toThrow(InvalidArgumentError);
    expect(bed.calls).toEqual([]);
  });

  it('refuses a topic that was never used', async () => {
    const { admin } = await AdminBed.open();
    await expect(act(admin, ALL, {}, 'unused')).rejects.toThrow("There is no topic 'unused' under this prefix");
  });
});

describe('cancel of what a filter means', () => {
  it('leaves what is in flight, unless that is meant too', async () => {
    const bed = await AdminBed.open(1);
    await bed.publish('running', { due: 0 });
    await bed.deliver('running', 'in-flight');
    await bed.publish('waiting');
    expect(await bed.admin.cancel(TOPIC, ALL, { inFlight: true, dryRun: true })).toMatchObject({ matched: 2 });
    expect(await bed.admin.cancel(TOPIC, ALL)).toMatchObject({ matched: 1, changed: 1, inFlight: 0 });
    expect(await bed.admin.cancel(TOPIC, ALL, { inFlight: true })).toMatchObject({
      matched: 1,
      changed: 1,
      inFlight: 1,
    });
    await expect(bed.admin.cancel(TOPIC, { from: NOW }, { inFlight: true })).rejects.toThrow(InvalidArgumentError);
    await expect(bed.admin.cancel(TOPIC, ALL, { inFlight: 1 as never })).rejects.toThrow(InvalidArgumentError);
  });

  it('stops what begins between the look and the call', async () => {
    const bed = await AdminBed.open(1);
    await bed.publish('a', { due: 0 });
    bed.around = async (call) => {
      if (call.operation === 'cancel') await bed.deliver('a', 'in-flight');
      return call.run();
    };
    expect(await bed.admin.cancel(TOPIC, ALL)).toMatchObject({ matched: 1, changed: 1, inFlight: 1 });
  });

  it('meets a message once whose lease is renewed meanwhile', async () => {
    const bed = await AdminBed.open(1);
    for (let i = 0; i < 250; i++) await bed.publish(`m${i}`, { due: 0 });
    const [first] = await bed.deliver('m0', 'in-flight');
    await bed.deliver('m0', 'in-flight', { sequence: 2, delivered: 200 });
    bed.around = async (call) => {
      // After the page of those that wait and the first one of those in flight.
      if (call.operation === 'peek' && bed.count('peek') === 3) {
        await bed.embedded.deliveries.extend(bed.partitionOf('m0'), HOUR, [first as Receipt]);
      }
      return call.run();
    };
    expect(await bed.admin.cancel(TOPIC, ALL, { inFlight: true, dryRun: true })).toMatchObject({ matched: 250 });
  });
});

describe('reschedule of what a filter means', () => {
  it('moves all to one time, however long it takes', async () => {
    const bed = await AdminBed.open();
    for (const id of ['a', 'b', 'c']) await bed.publish(id, { due: 10 * HOUR });
    bed.around = async (call) => {
      if (call.operation === 'reschedule') await bed.clock.advance(500);
      return call.run();
    };
    expect(await bed.admin.reschedule(TOPIC, ALL, { delay: '1h' })).toMatchObject({ matched: 3, changed: 3 });
    bed.around = async ({ run }) => run();
    expect(await bed.dues()).toEqual({ a: HOUR, b: HOUR, c: HOUR });
  });

  it('meets no message twice that it has moved further than it has looked', async () => {
    const bed = await AdminBed.open(1);
    for (let i = 0; i < 450; i++) await bed.publish(`m${i}`, { due: i });
    expect(await bed.admin.reschedule(TOPIC, ALL, { deliverAt: NOW + 300 })).toMatchObject({
      matched: 449,
      changed: 449,
    });
  });

  it.each([[{}], [{ delay: 1, deliverAt: NOW }], [{ delay: 'soon' }], [undefined]])(
    'refuses %j as a time',
    async (when) => {
      const bed = await AdminBed.open();
      await expect(bed.admin.reschedule(TOPIC, ALL, when as { delay: number })).rejects.toThrow(InvalidArgumentError);
      expect(bed.calls).toEqual([]);
    },
  );
});

describe('runNow of what a filter means', () => {
  it('leaves what is due already where it is', async () => {
    const bed = await AdminBed.open(1);
    for (const [id, due] of Object.entries({ past: -5000, now: 0, soon: 1000, later: HOUR }))
      await bed.publish(id, { due });
    expect(await bed.admin.runNow(TOPIC, { from: NOW - HOUR, to: NOW + HOUR })).toMatchObject({
      matched: 1,
      changed: 1,
    });
    expect(await bed.dues()).toEqual({ past: -5000, now: 0, soon: 0, later: HOUR });
  });

  it('reads neither what is due already nor what is due before the time that is meant', async () => {
    const bed = await AdminBed.open(1);
    for (let i = 0; i < 450; i++) await bed.publish(`m${i}`, { due: i < 225 ? -i : i });
    for (const from of [undefined, NOW + 400]) {
      bed.calls.splice(0);
      await bed.admin.runNow(TOPIC, from === undefined ? { to: NOW + 240 } : { from }, { dryRun: true });
      expect(bed.count('peek')).toBe(1);
    }
  });
});
