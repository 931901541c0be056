import { expect, it } from 'vitest';
import { OutboxRelay } from '../../../lib/outbox/relay/outbox-relay.js';
import type { OutboxRow } from '../../../lib/outbox/table/outbox-row.js';
import type { Batch, OutboxTable, ShardState } from '../../../lib/outbox/table/outbox-table.js';
import type { SessionSignal } from '../../../lib/store/fleet/signals.js';
import { decodeSessionSignal, encodeSessionSignal } from '../../../lib/store/fleet/signals.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { fakeBroker } from '../../support/units/fake-broker.js';
import { testContext } from '../../support/units/handling.js';
import { turns } from '../../support/units/test-claimant.js';

/** A relay on a table with one shard, whose rows are named. */
function open(recorded: readonly string[] = []) {
  const clock = new ManualClock();
  const rows: string[] = [];
  const sent: string[] = [];
  const told: string[] = [];
  let state: ShardState = {
    shard: 0,
    owner: undefined,
    epoch: '7',
    isFree: true,
    batch: { caller: 'before', sequence: 5, seqs: recorded },
  };
  const stored = (): OutboxRow[] =>
    rows.map((id, i) => ({
      seq: String(i),
      shard: 0,
      kind: 2,
      topic: 't',
      key: id,
      id,
      dueAt: undefined,
      body: undefined,
    }));
  const table = {
    shards: async () => [state],
    take: async ({ epoch }: ShardState, owner: string) => {
      state = { ...state, owner, epoch: String(Number(epoch) + 1), isFree: false };
    },
    renew: async () => void told.push('renewed'),
    release: async () => void told.push('released'),
    advance: async (held: { epoch: string }, done: Batch['rows']) => {
      rows.splice(0, done.length);
      return held.epoch === state.epoch ? stored() : undefined;
    },
    rowsOf: async (_: number, seqs: readonly string[]) => stored().filter(({ seq }) => seqs.includes(seq)),
    remove: async (_: unknown, done: Batch['rows']) => void rows.splice(0, done.length),
  };
  let hear: ((signal: SessionSignal) => void) | undefined;
  const broker = {
    ...fakeBroker({}),
    now: () => clock.now(),
    watchSession: (_: string, listener: (signal: SessionSignal) => void) => {
      hear = listener;
      return async () => void told.push('unsubscribed');
    },
  };
  let onSend: (() => Promise<void>) | undefined;
  const sender = {
    send: async (batch: Batch) => {
      await onSend?.();
      sent.push(`${batch.sequence}: ${batch.rows.map(({ id }) => id).join()}`);
      return [];
    },
  };
  const { log, events } = testContext({ broker, clock });
  const relay = new OutboxRelay({ broker, clock, log, events, sender, table: table as unknown as OutboxTable });
  const lose = (): void => void (state = { ...state, owner: 'other', epoch: '99' });
  return {
    relay,
    clock,
    rows,
    sent,
    told,
    lose,
    hear: (signal: SessionSignal) => hear?.(signal),
    whileSending: (run: () => Promise<void>) => void (onSend = run),
  };
}

it('takes a free shard, sends what it has, and looks again when a commit is told, or after a second', async () => {
  const { relay, clock, rows, sent, hear } = open();
  rows.push('a', 'b');
  relay.start();
  await turns(20);
  expect(sent.splice(0)).toEqual(['1: a,b']);

  rows.push('c');
  await turns(20);
  expect(sent).toEqual([]);
  relay.committed(0);
  await turns(20);
  expect(sent.splice(0)).toEqual(['3: c']);

  rows.push('d');
  const signal = decodeSessionSignal(encodeSessionSignal({ kind: 'outbox', shard: 0 }));
  hear(signal as SessionSignal);
  await turns(20);
  expect(sent.splice(0)).toEqual(['5: d']);

  rows.push('e');
  await clock.advance(1000);
  await turns(20);
  expect(sent).toEqual(['7: e']);
  await relay.stop();
});

it.each([
  { what: 'sends a batch under its name that the relay before has recorded', recorded: ['0', '1'], first: '5: a,b' },
  { what: 'takes rows for new if others of their batch are gone', recorded: ['0', '1', '2'], first: '1: a,b' },
])('$what', async ({ recorded, first }) => {
  const { relay, rows, sent } = open(recorded);
  rows.push('a', 'b');
  relay.start();
  await turns(20);
  expect(sent).toEqual([first]);
  await relay.stop();
});

it('sends nothing more of a shard that another relay has taken', async () => {
  const { relay, clock, rows, sent, lose } = open();
  relay.start();
  await turns(20);
  lose();
  rows.push('a');
  relay.committed(0);
  await turns(20);
  await clock.advance(60_000);
  expect(sent).toEqual([]);
  await relay.stop();
});

it('renews its leases, and releases them at the end', async () => {
  const { relay, clock, told } = open();
  relay.start();
  await turns(20);
  await clock.advance(3400);
  await turns(20);
  expect(told).toEqual(['renewed']);
  await relay.stop();
  await relay.stop();
  expect(told).toEqual(['renewed', 'unsubscribed', 'released']);
});

it('removes what Redis has confirmed before it ends', async () => {
  const { relay, rows, sent, whileSending } = open();
  let stopping: Promise<void> | undefined;
  whileSending(async () => {
    stopping ??= relay.stop();
    await turns(10);
  });
  rows.push('a', 'b');
  relay.start();
  await turns(30);
  await stopping;
  expect(sent).toEqual(['1: a,b']);
  expect(rows).toEqual([]);
});
