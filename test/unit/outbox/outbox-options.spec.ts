import { InvalidArgumentError } from 'nestjs-delay-queue';
import { expect, it } from 'vitest';
import { topicMatcher } from '../../../lib/outbox/outbox-options.js';
import { outboxDdl } from '../../../lib/outbox/table/ddl.js';
import { tableNames } from '../../../lib/outbox/table/table-names.js';

it('requires the topics that patterns name, and no others', () => {
  const isRequired = topicMatcher(['order.*', 'pay', '*.urgent']);
  expect(['order.timeout', 'order.', 'pay', 'a.urgent'].filter((topic) => !isRequired(topic))).toEqual([]);
  expect(['order', 'orders', 'payment', 'prepay', 'orderxa', 'urgent'].filter(isRequired)).toEqual([]);
});

it.each([
  ['postgres', undefined, '"public"."delay_queue_outbox"', '"public"."delay_queue_outbox_shards"'],
  ['postgres', 'billing.Out', '"billing"."Out"', '"billing"."Out_shards"'],
  ['mysql', undefined, '`delay_queue_outbox`', '`delay_queue_outbox_shards`'],
] as const)('quotes the names for %s: %s', (dialect, table, rows, shards) => {
  expect(tableNames(dialect, { table })).toMatchObject({ rows, shards });
  expect(outboxDdl(dialect, { table })).toContain(`CREATE TABLE ${shards} (`);
});

it('makes one shard, or as many as asked for', () => {
  expect(outboxDdl('postgres')).toContain('generate_series(0, 0)');
  expect(outboxDdl('mysql', { shards: 3 })).toContain('VALUES (0), (1), (2);');
  for (const shards of [0, 65, 1.5]) expect(() => outboxDdl('mysql', { shards })).toThrow(InvalidArgumentError);
});

it.each(['', 'a b', 'a"b', 'a.b.c', '1a', 'a;', `a${'b'.repeat(60)}`, 7])(
  'takes no %o for the name of a table',
  (table) => {
    expect(() => tableNames('postgres', { table: table as string })).toThrow(/^table must be the name of a table/);
    expect(() => tableNames('mysql', { inboxTable: table as string })).toThrow(/^inboxTable must be/);
  },
);
