import { type DynamicModule, Injectable, type Type } from '@nestjs/common';
import type { Knex } from 'knex';
import {
  DelayedHandler,
  type DelayedMessage,
  DelayQueueAdmin,
  type DelayQueueProducer,
  TransactionRequiredError,
} from 'nestjs-delay-queue';
import { DelayQueueOutboxModule } from 'nestjs-delay-queue/outbox';
import { knexOutbox } from 'nestjs-delay-queue/outbox/knex';
import { expect, it } from 'vitest';
import { type RunningApp, onOwnRedis } from '../../support/app/bed.js';
import type { DrivenDocument } from '../../support/docs/driven-document.js';
import { classIn } from '../../support/docs/run-block.js';
import { knexOnPglite, makeTables } from '../../support/outbox/knex-on-pglite.js';
import { eventually } from '../../support/waiting.js';

const TOPIC = 'order.timeout';

@Injectable()
class Orders {
  @DelayedHandler([TOPIC, 'order.seen'])
  onTimeout(): void {}
}

@Injectable()
class Closing {
  @DelayedHandler(TOPIC, { inbox: true })
  async onTimeout({ orderId }: { orderId: string }, { transaction }: DelayedMessage): Promise<void> {
    await (transaction as Knex.Transaction)('orders').where({ id: orderId }).update({ state: 'closed' });
  }
}

interface Shop {
  readonly app: RunningApp;
  readonly producer: DelayQueueProducer;
  readonly knex: Knex;
  /** Ids of the messages that wait. */
  readonly scheduled: () => Promise<string[]>;
}

/** Runs a test on an application with orders in a database, and an outbox. */
async function inShop(
  test: (shop: Shop) => Promise<void>,
  outboxOf: (knex: Knex) => Promise<DynamicModule | Type> = async (knex) => outbox(knex),
  handlers: Type = Orders,
): Promise<void> {
  const knex = knexOnPglite();
  try {
    await makeTables(knex);
    await knex.schema.createTable('orders', (table) => {
      table.text('id').primary();
      table.text('state');
    });
    await onOwnRedis(async (own) => {
      const app = await own.start({ imports: [await outboxOf(knex)], providers: [handlers] });
      const scheduled = async (): Promise<string[]> => {
        const { messages } = await app.get(DelayQueueAdmin).peek(TOPIC, 'scheduled');
        return messages.map(({ id }) => id);
      };
      await test({ app, producer: app.producer, knex, scheduled });
      await app.close();
    });
  } finally {
    await knex.destroy();
  }
}

function outbox(knex: Knex): DynamicModule {
  return DelayQueueOutboxModule.forRoot({ adapter: knexOutbox(knex) });
}

export function transactions(document: DrivenDocument): void {
  document.drive('Transactions #1', (run) => {
    it('publishes with the commit, and not if the transaction is rolled back', async () => {
      await inShop(async ({ producer, knex, scheduled }) => {
        await run({ knex, producer, orderId: '42' });
        await eventually(async () => expect(await scheduled()).toEqual(['42']));
        await producer.cancel(TOPIC, '42');
        // The order exists by now.
        await expect(run({ knex, producer, orderId: '42' })).rejects.toThrow(/duplicate key/);
        await run({ knex, producer, orderId: '43' });
        await eventually(async () => expect(await scheduled()).toEqual(['43']));
      });
    });
  });

  document.drive('Set it up #1', (run) => {
    it('makes the producer part of transactions', async () => {
      await inShop(
        async ({ producer, knex, scheduled }) => {
          await knex.transaction(async () => producer.publish(TOPIC, 1, { id: 'a', delay: '1h' }));
          await eventually(async () => expect(await scheduled()).toEqual(['a']));
        },
        async (knex) => classIn(await run({ knex }), 'OutboxModule'),
      );
    });
  });

  document.drive('What the caller sees #1', (run) => {
    it('cancels with the commit', async () => {
      await inShop(async ({ producer, knex, scheduled }) => {
        await knex('orders').insert({ id: '42', state: 'open' });
        await producer.publish(TOPIC, {}, { id: '42', delay: '1h' });
        await run({ knex, producer, orderId: '42' });
        await eventually(async () => expect(await scheduled()).toEqual([]));
        expect(await knex('orders')).toEqual([{ id: '42', state: 'paid' }]);
      });
    });
  });

  document.drive('Handle in a transaction #1', (run) => {
    it('has its effect in the transaction that it is handed, once', async () => {
      const Handlers = classIn(await run({}), 'OrderTimeouts');
      await inShop(
        async ({ producer, knex }) => {
          await knex('orders').insert({ id: '42', state: 'open' });
          await knex.transaction(async () => producer.publish(TOPIC, { orderId: '42' }, { id: '42' }));
          await eventually(async () => expect(await knex('orders')).toEqual([{ id: '42', state: 'closed' }]));
          expect(await knex.transaction(async () => producer.cancel(TOPIC, '42'))).toBe('done');
        },
        async (knex) => outbox(knex),
        Handlers,
      );
    });
  });

  document.drive('Handle in a transaction #2', (run) => {
    it('pays, unless the timeout was first', async () => {
      await inShop(
        async ({ producer, knex }) => {
          await knex('orders').insert([
            { id: 'early', state: 'open' },
            { id: 'late', state: 'open' },
          ]);
          await knex.transaction(async () => {
            await producer.publish(TOPIC, { orderId: 'early' }, { id: 'early', delay: '1h' });
            await producer.publish(TOPIC, { orderId: 'late' }, { id: 'late' });
          });
          await eventually(async () => expect(await knex('orders').where({ state: 'closed' })).toHaveLength(1));
          for (const orderId of ['early', 'late']) await run({ knex, producer, orderId });
          expect(await knex('orders').orderBy('id')).toEqual([
            { id: 'early', state: 'paid' },
            { id: 'late', state: 'closed' },
          ]);
        },
        async (knex) => outbox(knex),
        Closing,
      );
    });
  });

  document.drive('Insist on it, or leave it out #1', (run) => {
    it('is part of the transaction, or not, as it says', async () => {
      await inShop(async ({ app, producer, knex }) => {
        const seen: string[] = [];
        app.events.published.past.length = 0;
        const failing = knex.transaction(async (trx) => {
          await run({ producer, trx, orderId: '42' });
          seen.push(...app.events.published.past.map(({ topic }) => topic));
          throw new Error('undone');
        });
        await expect(failing).rejects.toThrow('undone');
        expect(seen).toEqual(['order.seen']);
        const trx = await knex.transaction();
        await trx.rollback();
        await expect(run({ producer, trx, orderId: '42' })).rejects.toThrow(TransactionRequiredError);
      });
    });
  });
}
