import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import { createDelayQueueAdmin } from 'nestjs-delay-queue';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { outboxDdl } from '../../../lib/outbox/table/ddl.js';
import type { ShopConfig } from '../../fleet/programs/outbox-shop.js';
import { testAdapter } from '../../support/outbox/behaviours.js';
import { noteProcess } from '../../support/processes/left-processes.js';
import { DatabaseServer, type OpenedSubject } from '../../support/servers/database-server.js';
import { type PrivateRedis, startRedis } from '../../support/servers/redis-server.js';
import { eventually } from '../../support/waiting.js';

const TOPIC = 'shop.timeout';

/** How long servers and processes are killed, in milliseconds. */
const TROUBLE = 60_000;

describe.each(['postgres', 'mysql'] as const)('on %s', (dialect) => {
  let server: DatabaseServer;
  let knex: Knex;

  beforeAll(async () => {
    server = await DatabaseServer.start(dialect);
    knex = server.connect();
    for (const statement of outboxDdl(dialect, { shards: 4 }).split(/;$/m))
      if (statement.trim() !== '') await knex.raw(statement);
    await knex.schema.createTable('orders', (table) => {
      table.string('id', 64).primary();
      table.string('state', 16);
      table.boolean('waits');
    });
    await knex.schema.createTable('handled', (table) => {
      table.increments('id');
      table.string('order_id', 64).index();
      table.integer('attempt');
    });
    await knex.schema.createTable('races', (table) => table.string('id', 64).primary());
    await knex.schema.createTable('effects', (table) => {
      table.increments('id');
      table.string('order_id', 64).index();
      table.string('what', 16);
    });
  });

  afterAll(async () => {
    await knex.destroy();
    await server.stop();
  });

  describe.each(['drizzle', 'knex', 'kysely', 'typeorm'] as const)('the adapter of %s', (library) => {
    let opened: Promise<OpenedSubject> | undefined;
    testAdapter(async () => (await (opened ??= server.open(library))).subject);
    afterAll(async () => (await opened)?.close());
  });

  it('publishes and cancels what is committed once, and nothing else, whatever is killed', async () => {
    const redis = await startRedis(['--appendonly', 'yes', '--appendfsync', 'always']);
    const config: ShopConfig = { database: server.settings, redis: redis.url, concurrency: 10, races: 20 };
    const shops = [startShop(config), startShop(config)];
    const counts = await makeTrouble(shops, config, redis, server);
    for (const shop of shops) {
      shop.kill('SIGTERM');
      await once(shop, 'message');
    }
    const [[orders], [cancelled], [waiting]] = await Promise.all([
      knex('orders').count({ count: '*' }),
      knex('orders').where({ state: 'cancelled' }).count({ count: '*' }),
      knex('orders').where({ state: 'open', waits: true }).count({ count: '*' }),
    ]);
    const admin = await createDelayQueueAdmin({ redis: redis.url, log: { log() {}, warn() {}, error() {} } });
    await eventually(async () => {
      expect(await knex('delay_queue_outbox').select('seq', 'error')).toEqual([]);
      const missing = await knex('orders')
        .where({ waits: false })
        .whereNotIn('id', knex('handled').select('order_id'))
        .select('id');
      expect(missing).toEqual([]);
      const { counters, scheduled } = await admin.stats(TOPIC);
      expect({ published: counters.published, cancelled: counters.cancelled, scheduled }).toEqual({
        published: Number(orders?.['count']),
        cancelled: Number(cancelled?.['count']),
        scheduled: Number(waiting?.['count']),
      });
    });
    const undone = await knex('handled').whereNotIn('order_id', knex('orders').where({ waits: false }).select('id'));
    expect(undone).toEqual([]);
    console.log(`${dialect}: ${orders?.['count']} orders, ${cancelled?.['count']} cancelled`, counts);
    await assertRaces(knex);
    await admin.close();
    for (const shop of shops) shop.send('close');
    await Promise.all(shops.map(async (shop) => once(shop, 'exit')));
    await redis.stop();
  });
});

/** Of each payment and timeout of an order, exactly one has had its effect. */
async function assertRaces(knex: Knex): Promise<void> {
  const outcomes = async (): Promise<Record<string, number>> => {
    const orders = knex('races').leftJoin('effects', 'races.id', 'effects.order_id').groupBy('races.id');
    const each = orders.select('races.id').count({ count: 'what' }).max({ what: 'what' });
    const rows = await knex
      .from(each.as('each'))
      .select('count', 'what')
      .count({ orders: '*' })
      .groupBy('count', 'what');
    return Object.fromEntries(rows.map((row) => [`${row['count']} ${row['what']}`, Number(row['orders'])]));
  };
  await eventually(async () => expect(await outcomes()).not.toHaveProperty('0 null'));
  expect(await outcomes()).toEqual({ '1 paid': expect.any(Number), '1 timeout': expect.any(Number) });
  console.log('races', await outcomes());
}

function startShop(config: ShopConfig): ChildProcess {
  const shop = fork('dist-test/fleet/programs/outbox-shop.js', [JSON.stringify(config)], {
    // Many fail to boot, since a server is away.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  noteProcess(shop);
  return shop;
}

/** Kills shops and servers at random. */
async function makeTrouble(
  shops: ChildProcess[],
  config: ShopConfig,
  redis: PrivateRedis,
  database: DatabaseServer,
): Promise<Record<string, number>> {
  const counts = { shops: 0, redis: 0, database: 0 };
  const end = performance.now() + TROUBLE;
  while (performance.now() < end) {
    await sleep(500 + Math.random() * 2500);
    const which = Math.random();
    if (which < 0.7) {
      counts.shops++;
      const place = Math.random() < 0.5 ? 0 : 1;
      shops[place]?.kill('SIGKILL');
      shops[place] = startShop(config);
    } else if (which < 0.85) {
      counts.redis++;
      await redis.kill();
      await sleep(Math.random() * 1000);
      await redis.start();
    } else {
      counts.database++;
      await database.kill();
      await sleep(Math.random() * 1000);
      await database.start();
    }
  }
  // Those that were started while a server was away may have failed to boot.
  await Promise.all(
    shops.map(async (shop, place) => {
      if (shop.exitCode !== null || shop.signalCode !== null) shops[place] = startShop(config);
    }),
  );
  await sleep(5000);
  return counts;
}
