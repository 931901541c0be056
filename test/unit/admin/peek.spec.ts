import { describe, expect, it } from 'vitest';
import { DelayQueueAdmin } from '../../../lib/admin/delay-queue.admin.js';
import type { PeekOptions, PeekPage, PeekState } from '../../../lib/admin/peek.js';
import type { PeekRequest } from '../../../lib/store/messages/stored-message.js';
import { EmbeddedBroker } from '../../../lib/engines/embedded/embedded.broker.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { InvalidArgumentError } from '../../../lib/errors/options.errors.js';
import { partitionOf } from '../../../lib/messages/partitioner.js';
import { message } from '../../support/broker/broker-bed.js';
import { testAdmin } from '../../support/units/admin.js';

interface Bed {
  readonly admin: DelayQueueAdmin;
  readonly broker: EmbeddedBroker;
  readonly requests: PeekRequest[];
  readonly publish: (id: string, at: number, envelope?: string) => Promise<void>;
}

async function open(partitions = 8): Promise<Bed> {
  const clock = new ManualClock();
  const broker = new EmbeddedBroker(clock);
  const requests: PeekRequest[] = [];
  const peek = broker.messages.peek.bind(broker.messages);
  broker.messages.peek = async (partition, request) => {
    requests.push(request);
    return peek(partition, request);
  };
  await broker.fleet.configure('orders', partitions);
  let sequence = 0;
  return {
    admin: testAdmin(broker, clock),
    broker,
    requests,
    publish: async (id, at, envelope = '[1,1]') => {
      const partition = { topic: 'orders', index: partitionOf(id, partitions) };
      await broker.messages.publish(partition, { caller: 'test', sequence: ++sequence }, [
        message(id, { due: { at }, envelope }),
      ]);
    },
  };
}

async function pages(admin: DelayQueueAdmin, limit: number, between?: (page: number) => Promise<void>) {
  const all: PeekPage[] = [];
  let cursor: string | undefined;
  do {
    const page = await admin.peek('orders', 'scheduled', { limit, cursor });
    all.push(page);
    cursor = page.cursor;
    await between?.(all.length);
  } while (cursor !== undefined);
  return all;
}

const idsOf = (all: readonly PeekPage[]): string[] => all.flatMap(({ messages }) => messages.map(({ id }) => id));

describe('peek over all partitions', () => {
  it('is in due order, whatever the size of a page', async () => {
    const { admin, publish } = await open();
    const ids = Array.from({ length: 300 }, (_, i) => `m${i}`);
    for (const [i, id] of ids.entries()) await publish(id, 1000 + ((i * 7) % 300));
    const inOrder = ids.toSorted((a, b) => ((Number(a.slice(1)) * 7) % 300) - ((Number(b.slice(1)) * 7) % 300));

    for (const limit of [1, 7, 50, 200]) {
      const all = await pages(admin, limit);
      expect(idsOf(all)).toEqual(inOrder);
      expect(all.slice(0, -2).every(({ messages }) => messages.length === limit)).toBe(true);
    }
  });

  it('shows 50 by default, and has no cursor on the last page', async () => {
    const { admin, publish } = await open();
    for (let i = 0; i < 60; i++) await publish(`m${i}`, i);

    const first = await admin.peek('orders', 'scheduled');
    const second = await admin.peek('orders', 'scheduled', { cursor: first.cursor });

    expect([first.messages.length, second.messages.length, second.cursor]).toEqual([50, 10, undefined]);
  });

  it('skips nothing that was there all the time, and repeats nothing', async () => {
    const { admin, publish, broker } = await open(3);
    const staying = Array.from({ length: 100 }, (_, i) => `stays-${i}`);
    for (const [i, id] of staying.entries()) {
      await publish(id, 10 * i);
      await publish(`goes-${i}`, 10 * i);
    }

    const all = await pages(admin, 9, async (page) => {
      for (const i of [page * 4, 99 - page]) {
        const partition = { topic: 'orders', index: partitionOf(`goes-${i}`, 3) };
        await broker.messages.cancel(partition, { caller: `page ${page}-${i}`, sequence: 1 }, `goes-${i}`);
      }
      await publish(`comes-${page}`, (page * 97) % 1000);
    });

    const listed = idsOf(all);
    expect(listed.filter((id) => id.startsWith('stays'))).toEqual(staying);
    expect(listed.filter((id) => id.startsWith('comes')).length).toBeGreaterThan(3);
    expect(new Set(listed).size).toBe(listed.length);
  });

  it('costs one call per partition, and few more if one partition has everything', async () => {
    const { admin, broker, publish, requests } = await open(64);
    for (let i = 0; i < 1000; i++) await publish(`m${i}`, i + 1);
    requests.splice(0);
    await admin.peek('orders', 'scheduled', { limit: 200 });
    expect(requests).toHaveLength(64);
    expect(Math.max(...requests.map(({ limit }) => limit))).toBe(20);
    expect(Math.max(...requests.map(({ maxBytes }) => maxBytes))).toBe(64 * 1024);

    const messages = Array.from({ length: 200 }, (_, i) => message(`all-${i}`, { due: { at: 0 } }));
    await broker.messages.publish({ topic: 'orders', index: 5 }, { caller: 'all', sequence: 1 }, messages);
    requests.splice(0);
    expect((await admin.peek('orders', 'scheduled', { limit: 200 })).messages[199]?.id).toBe('all-99');
    expect(requests.length).toBeLessThan(64 + 12);
  });

  it('ends a page early if messages are large', async () => {
    const { admin, publish } = await open();
    const envelope = `[1,"${'x'.repeat(400_000)}"]`;
    for (let i = 0; i < 10; i++) await publish(`m${i}`, i, envelope);

    const all = await pages(admin, 200);

    expect(all.map(({ messages }) => messages.length)).toEqual([3, 3, 3, 1]);
    expect(idsOf(all)).toEqual(Array.from({ length: 10 }, (_, i) => `m${i}`));
  });

  it('is empty if the topic was never used', async () => {
    const { admin } = await open();
    expect(await admin.peek('unknown', 'dead')).toEqual({ messages: [], cursor: undefined });
  });

  it.each<[string, PeekState, PeekOptions]>([
    ['no such state', 'waiting' as PeekState, {}],
    ['a limit of 0', 'due', { limit: 0 }],
    ['a limit of 201', 'due', { limit: 201 }],
    ['no such option', 'due', { offset: 3 } as PeekOptions],
    ['no cursor', 'due', { cursor: 'abc' }],
    ['no options', 'due', 5 as PeekOptions],
  ])('refuses %s before it asks for anything', async (_what, state, options) => {
    const { admin, requests } = await open();
    await expect(admin.peek('orders', state, options)).rejects.toThrow(InvalidArgumentError);
    expect(requests).toEqual([]);
  });
});
