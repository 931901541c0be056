import type { OutboxAdapter, OutboxValue } from 'nestjs-delay-queue/outbox';
import { expect, it } from 'vitest';
import { OutboxTable, type HeldShard } from '../../../lib/outbox/table/outbox-table.js';
import { Statements } from '../../../lib/outbox/table/statements.js';
import { tableNames } from '../../../lib/outbox/table/table-names.js';
import { useDatabase } from '../../support/outbox/database.js';

const database = useDatabase();
const HELD: HeldShard = { shard: 0, owner: 'relay', epoch: '1' };
const LEASE = 10_000;

type Statement = readonly [sql: string, parameters: readonly OutboxValue[]];

/** A table whose first shard is held. */
async function open() {
  const statements: Statement[] = [];
  const adapter: OutboxAdapter = {
    ...database.adapter,
    query: async (sql, parameters) => {
      statements.push([sql, parameters]);
      return database.adapter.query(sql, parameters);
    },
  };
  const table = new OutboxTable(new Statements(adapter), tableNames('postgres'));
  await database.run("UPDATE delay_queue_outbox_shards SET owner = 'relay', epoch = 1 WHERE shard = 0");
  const fill = async (count: number, { shard = 0, characters = 1 } = {}): Promise<void> => {
    await database.run(
      `INSERT INTO delay_queue_outbox (shard, kind, topic, message_id, body) SELECT ${shard}, 1, 't', n, repeat('x', ${characters}) FROM generate_series(1, ${count}) n`,
    );
  };
  const advance = async (sequence: number, done: Parameters<OutboxTable['advance']>[1] = []) =>
    table.advance(HELD, done, { caller: 'c', sequence }, LEASE);
  const recorded = async () => (await table.shards())[0]?.batch;
  return { statements, fill, advance, recorded };
}

const idsOf = (rows: readonly { readonly id: string }[] | undefined) => rows?.map(({ id }) => id);

it('removes a batch and records the next one by one statement', async () => {
  const { statements, fill, advance, recorded } = await open();
  await fill(1, { shard: 1 });
  await fill(2);
  const first = await advance(1);
  expect(idsOf(first)).toEqual(['1', '2']);
  expect(await recorded()).toEqual({ caller: 'c', sequence: 1, seqs: first?.map(({ seq }) => seq) });
  await fill(1);
  statements.length = 0;
  const second = await advance(2, first);
  expect(statements).toHaveLength(1);
  expect(idsOf(second)).toEqual(['1']);
  expect(await recorded()).toEqual({ caller: 'c', sequence: 2, seqs: second?.map(({ seq }) => seq) });
  expect(await advance(3, second)).toEqual([]);
  // What is done was removed, and the record of it stays: it says that its rows were sent.
  expect(await database.waiting()).toBe(1);
  expect(await recorded()).toMatchObject({ sequence: 2 });
});

it('takes as many rows and characters as a batch may have, and one row whatever its size', async () => {
  const { fill, advance } = await open();
  await fill(201);
  const many = await advance(1);
  expect(many).toHaveLength(200);
  await fill(2, { characters: 600_000 });
  await fill(3, { characters: 200_000 });
  const next = await advance(2, many);
  expect(next).toHaveLength(1);
  const large = await advance(3, next);
  expect(large).toHaveLength(1);
  const other = await advance(4, large);
  expect(other).toHaveLength(1);
  expect(await advance(5, other)).toHaveLength(2);
});

it('changes nothing once another process has the shard', async () => {
  const { fill, advance, recorded } = await open();
  await fill(2);
  const rows = await advance(1);
  await database.run("UPDATE delay_queue_outbox_shards SET owner = 'other', epoch = 2 WHERE shard = 0");
  await fill(1);
  expect(await advance(2, rows)).toBeUndefined();
  expect(await recorded()).toMatchObject({ sequence: 1 });
  expect(await database.waiting()).toBe(3);
});

it('records nothing over a later batch, should a statement come after the next', async () => {
  const { fill, advance, recorded } = await open();
  await fill(2);
  await advance(2);
  expect(await advance(1)).toBeUndefined();
  expect(await recorded()).toMatchObject({ sequence: 2 });
});

it('finds the first rows without sorting all, although nobody counts what a table has whose rows are short-lived', async () => {
  const { statements, fill, advance } = await open();
  await fill(20_000, { characters: 200 });
  await advance(1);
  const [[sql, parameters]] = statements as [Statement];
  const plan = await database.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${sql}`, parameters);
  const text = plan.map((line) => line['QUERY PLAN']).join('\n');
  expect(text).toMatch(/Index Scan using delay_queue_outbox_shard/);
  expect(text).not.toMatch(/(?:Seq|Bitmap Heap) Scan on delay_queue_outbox\b/);
});
