import { describe, expect, it } from 'vitest';
import type { DelayQueueAdmin } from '../../../lib/admin/delay-queue.admin.js';
import { EmbeddedBroker } from '../../../lib/engines/embedded/embedded.broker.js';
import { type BrokerCall, wrapBroker } from '../../../lib/store/wrap-broker.js';
import { AuditFailedError, BrokerUnavailableError } from '../../../lib/errors/operation.errors.js';
import { InvalidArgumentError } from '../../../lib/errors/options.errors.js';
import type { BackgroundError } from '../../../lib/events/queue-events.interface.js';
import { partitionOf } from '../../../lib/messages/partitioner.js';
import { DelayQueueProducer } from '../../../lib/producer/delay-queue.producer.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { FAILURE, message } from '../../support/broker/broker-bed.js';
import { Claimant } from '../../support/broker/claimant.js';
import { testAdmin, testAudit } from '../../support/units/admin.js';
import { testRegistry } from '../../support/units/handling.js';

const NOW = 1_700_000_000_000;

async function open() {
  const clock = new ManualClock(NOW);
  const embedded = new EmbeddedBroker(clock);
  await embedded.fleet.configure('orders', 4);
  const calls: BrokerCall[] = [];
  const lines: string[] = [];
  const errors: BackgroundError[] = [];
  /** What fails. */
  const failing = new Set<BrokerCall['operation']>();
  const around = async (call: BrokerCall): Promise<unknown> => {
    calls.push(call);
    if (failing.has(call.operation)) throw new BrokerUnavailableError('gone', { transient: false });
    return call.run();
  };
  const broker = wrapBroker(embedded, around);
  let sequence = 0;
  return {
    embedded,
    clock,
    calls,
    lines,
    errors,
    failing,
    admin: testAdmin(broker, clock, {
      process: 'web-1:17:0198c0de',
      log: { log: () => {}, warn: () => {}, error: (line) => void lines.push(line) },
      events: { wants: () => true, emit: (_kind, event) => void errors.push(event as BackgroundError) },
    }),
    publish: async (id: string) => {
      const partition = { topic: 'orders', index: partitionOf(id, 4) };
      await embedded.messages.publish(partition, { caller: 'test', sequence: ++sequence }, [
        message(id, { due: { at: NOW + 1000 }, envelope: '[1,1]' }),
      ]);
    },
    /** Makes dead letters of messages with these ids, all in one partition. */
    kill: async (count: number) => {
      const partition = { topic: 'orders', index: 0 };
      const claimant = new Claimant(embedded, partition);
      await claimant.acquire();
      const ids = Array.from({ length: count }, (_, i) => `dead-${i}`);
      await embedded.messages.publish(
        partition,
        { caller: 'killer', sequence: 1 },
        ids.map((id) => message(id)),
      );
      const { messages } = await claimant.claim();
      const settlements = messages.map(({ storedId, token }) => ({
        storedId,
        token,
        outcome: { kind: 'dead', failure: FAILURE } as const,
      }));
      await embedded.deliveries.settle(partition, { caller: 'settler', sequence: 1 }, settlements);
    },
  };
}

type Act = (admin: DelayQueueAdmin, actor: string) => Promise<unknown>;

const SINGLE: readonly (readonly [action: string, act: Act, given: object, result: unknown])[] = [
  ['cancel', (admin, actor) => admin.cancel('orders', 'a', { actor }), { id: 'a' }, 'cancelled'],
  [
    'cancel',
    (admin, actor) => admin.cancel('orders', { id: 'b', key: 'k' }, { actor }),
    { id: 'b', key: 'k' },
    'not-found',
  ],
  [
    'reschedule',
    (admin, actor) => admin.reschedule('orders', 'a', { deliverAt: new Date(NOW + 5000) }, { actor }),
    { id: 'a', deliverAt: new Date(NOW + 5000).toISOString() },
    'moved',
  ],
  ['runNow', (admin, actor) => admin.runNow('orders', 'a', { actor }), { id: 'a' }, 'moved'],
  ['edit', (admin, actor) => admin.edit('orders', 'a', { secret: 1 }, { actor }), { id: 'a' }, 'edited'],
  ['pause', (admin, actor) => admin.pause('orders', { actor }), {}, undefined],
  [
    'hold',
    (admin, actor) => admin.hold('orders', '5m', { actor }),
    { delay: '5m' },
    new Date(NOW + 300_000).toISOString(),
  ],
  ['resume', (admin, actor) => admin.resume('orders', { actor }), {}, undefined],
  [
    'requeue',
    (admin, actor) => admin.requeue('orders', 'dead-1', { actor, delay: '5m' }),
    { id: 'dead-1', delay: '5m' },
    { matched: 0, aborted: false, changed: 0 },
  ],
];

describe('the audit log', () => {
  it.each(SINGLE)('has one entry of %s, once it is confirmed', async (action, act, given, result) => {
    const { admin, calls, publish } = await open();
    await publish('a');
    await act(admin, 'ann');

    expect(calls.map(({ operation }) => operation).indexOf('appendAudit')).toBe(calls.length - 1);
    expect(await admin.audit()).toEqual({
      entries: [
        {
          at: new Date(NOW),
          actor: 'ann',
          action,
          topic: 'orders',
          given,
          phase: 'done',
          result,
          error: undefined,
          process: 'web-1:17:0198c0de',
          operation: expect.stringMatching(/^[\da-f-]{36}$/) as string,
        },
      ],
      cursor: undefined,
    });
  });

  it.each<[string, Act, object, object]>([
    ['drain', (admin, actor) => admin.drain('orders', { actor }), {}, { matched: 1, changed: 1, aborted: false }],
    ['purge', (admin, actor) => admin.purge('orders', { actor }), {}, { matched: 3, changed: 3, aborted: false }],
    [
      'requeue',
      (admin, actor) => admin.requeue('orders', { reason: 'failed' }, { actor, rate: 50 }),
      { reason: 'failed', rate: 50 },
      { matched: 3, aborted: false, changed: 3 },
    ],
    [
      'remove',
      (admin, actor) => admin.remove('orders', { all: true }, { actor }),
      { all: true },
      { matched: 3, aborted: false, changed: 3 },
    ],
  ])(
    'says before the first step of %s that it begins, and then how it has ended',
    async (action, act, given, result) => {
      const { admin, calls, publish, kill } = await open();
      await publish('a');
      await kill(3);
      await act(admin, 'ann');
      const operations = calls.map(({ operation }) => operation);
      const writes = operations.filter((one) => ['clear', 'requeueDead', 'removeDead', 'appendAudit'].includes(one));
      expect([writes.at(0), writes.at(-1), writes.length]).toEqual(['appendAudit', 'appendAudit', 3]);

      const { entries } = await admin.audit();
      expect(entries).toMatchObject([
        { actor: 'ann', action, given, phase: 'done', result },
        { actor: 'ann', action, given, phase: 'begun', result: undefined },
      ]);
      expect(entries[0]?.operation).toBe(entries[1]?.operation);
    },
  );

  it('has what an operator cancels by a tag, and nothing of what the application does', async () => {
    const { admin, embedded, clock } = await open();
    const producer = new DelayQueueProducer({
      store: embedded,
      topics: testRegistry({ broker: embedded, clock }),
      clock,
      events: { wants: () => false, emit: () => {} },
      publishTimeout: 1000,
      middleware: undefined,
      audit: testAudit(embedded, clock),
    });
    for (const actor of ['', 5]) {
      await expect(producer.cancelTagged('orders', 'red', { actor } as object)).rejects.toThrow(InvalidArgumentError);
    }
    await producer.publish('orders', 1, { delay: 1000, tags: ['red'] });
    await producer.cancelTagged('orders', 'blue');
    await producer.cancelTagged('orders', 'red', { actor: 'ann' });
    const about = { action: 'cancelTagged', topic: 'orders', actor: 'ann', given: { tag: 'red' } };
    expect((await admin.audit()).entries).toMatchObject([
      { ...about, phase: 'done', result: { cancelled: 1, inFlight: 0 } },
      { ...about, phase: 'begun' },
    ]);
  });

  it('does not say that work begins which has nothing to do', async () => {
    const { admin } = await open();
    await admin.purge('orders');

    expect((await admin.audit()).entries).toMatchObject([{ actor: undefined, phase: 'done', result: { matched: 0 } }]);
  });

  it('has no payloads', async () => {
    const { admin, embedded, publish, kill } = await open();
    await publish('a');
    await kill(1);
    await admin.edit('orders', 'a', { card: '4111' });
    await admin.requeue('orders', 'dead-0', { payload: { card: '4111' } });
    const { records } = await embedded.records.auditRecords({ limit: 10 });

    expect(records.map(({ text }) => text).join()).not.toContain('4111');
    expect((await admin.audit()).entries[0]?.given).toEqual({ id: 'dead-0', payload: 'replaced' });
  });

  it('has nothing of dry runs, of looking, and of calls that were refused', async () => {
    const { admin, calls } = await open();
    await admin.drain('orders', { dryRun: true, actor: 'ann' });
    await admin.requeue('orders', { all: true }, { dryRun: true });
    await admin.stats('orders');
    await admin.audit();
    await expect(admin.pause('no such topic')).rejects.toThrow(InvalidArgumentError);
    await expect(admin.pause('unused')).rejects.toThrow(InvalidArgumentError);
    await expect(admin.cancel('orders', '')).rejects.toThrow(InvalidArgumentError);
    await expect(admin.edit('orders', 'a', undefined)).rejects.toMatchObject({ code: 'SERIALIZATION' });

    expect(calls.filter(({ operation }) => operation === 'appendAudit')).toEqual([]);
  });

  it('says that a call has failed which may have taken effect', async () => {
    const { admin, failing } = await open();
    failing.add('pause');
    await expect(admin.pause('orders', { actor: 'ann' })).rejects.toThrow(BrokerUnavailableError);
    failing.clear();

    expect((await admin.audit()).entries).toMatchObject([
      { actor: 'ann', action: 'pause', phase: 'failed', result: undefined, error: 'gone' },
    ]);
  });

  it('says so of work that fails in the middle, after what said that it begins', async () => {
    const { admin, failing, kill } = await open();
    await kill(3);
    failing.add('clear');
    await expect(admin.purge('orders')).rejects.toThrow(BrokerUnavailableError);

    expect((await admin.audit()).entries).toMatchObject([{ phase: 'failed' }, { phase: 'begun' }]);
  });

  it('keeps nobody from acting if it cannot be written, which is told', async () => {
    const { admin, embedded, lines, errors, failing, publish } = await open();
    await publish('a');
    failing.add('appendAudit');

    expect(await admin.cancel('orders', 'a', { actor: 'ann' })).toBe('cancelled');
    expect(await embedded.messages.get({ topic: 'orders', index: partitionOf('a', 4) }, 'a')).toBeUndefined();
    expect(lines).toEqual([expect.stringMatching(/^An action is not in the audit log: \{.*"actor":"ann".*\}\. gone$/)]);
    expect(errors).toEqual([{ source: 'audit', topic: 'orders', error: expect.any(AuditFailedError) as unknown }]);
    const missing = errors.map(({ error }) => (error as AuditFailedError).entry);
    expect(JSON.parse(missing[0] ?? '')).toMatchObject({
      action: 'cancel',
      given: { id: 'a' },
      phase: 'done',
      result: 'cancelled',
    });
  });

  it.each<[string, Act]>([
    ['cancel', (admin, actor) => admin.cancel('orders', 'a', { actor })],
    ['reschedule', (admin, actor) => admin.reschedule('orders', 'a', { delay: 1 }, { actor })],
    ['runNow', (admin, actor) => admin.runNow('orders', 'a', { actor })],
    ['edit', (admin, actor) => admin.edit('orders', 'a', 1, { actor })],
    ['requeue', (admin, actor) => admin.requeue('orders', { all: true }, { actor })],
    ['remove', (admin, actor) => admin.remove('orders', { all: true }, { actor })],
    ['drain', (admin, actor) => admin.drain('orders', { actor })],
    ['purge', (admin, actor) => admin.purge('orders', { actor })],
    ['pause', (admin, actor) => admin.pause('orders', { actor })],
    ['hold', (admin, actor) => admin.hold('orders', 1, { actor })],
    ['resume', (admin, actor) => admin.resume('orders', { actor })],
  ])('takes only text as an actor of %s, and no other options', async (_, act) => {
    const { admin, calls } = await open();
    for (const actor of ['', 'x'.repeat(257), 5 as never, {} as never]) {
      await expect(act(admin, actor)).rejects.toThrow('actor must be a string of 1 to 256 characters');
    }
    expect(calls).toEqual([]);
    await expect(admin.cancel('orders', 'a', { actors: 'ann' } as object)).rejects.toThrow(InvalidArgumentError);
    await expect(admin.drain('orders', null as never)).rejects.toThrow(InvalidArgumentError);
  });

  it('is read page by page', async () => {
    const { admin } = await open();
    for (let i = 0; i < 5; i++) await admin.cancel('orders', `m${i}`);
    const first = await admin.audit({ limit: 2 });
    const second = await admin.audit({ limit: 2, cursor: first.cursor });
    const third = await admin.audit({ limit: 2, cursor: second.cursor });

    expect([first, second, third].map(({ entries }) => entries.map(({ given }) => given['id']))).toEqual([
      ['m4', 'm3'],
      ['m2', 'm1'],
      ['m0'],
    ]);
    expect(third.cursor).toBeUndefined();
    for (const options of [{ cursor: 'x' }, { cursor: '' }, { limit: 0 }, { limit: 201 }, { page: 1 } as object]) {
      await expect(admin.audit(options)).rejects.toThrow(InvalidArgumentError);
    }
  });

  it('leaves out what another program has written', async () => {
    const { admin, embedded } = await open();
    await admin.pause('orders');
    for (const [i, text] of [
      '',
      'x',
      '{}',
      '[]',
      '{"action":"cancel","topic":"orders","given":5,"phase":"done"}',
    ].entries()) {
      await embedded.records.appendAudit({ id: `foreign-${i}`, text });
    }

    expect((await admin.audit()).entries).toMatchObject([{ action: 'pause' }]);
  });
});
