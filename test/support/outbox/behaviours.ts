import { expect, it } from 'vitest';
import { setImmediate } from 'node:timers/promises';
import type { OutboxAdapter } from 'nestjs-delay-queue/outbox';
import { Gate } from '../waiting.js';

/** A library of databases with its adapter, as its users see it. */
export interface Subject {
  readonly adapter: OutboxAdapter;
  /** Runs a function in a transaction, and gives it the handle; rolled back if it throws. */
  transaction<T>(run: (handle: unknown) => Promise<T>): Promise<T>;
  /** The same within a savepoint of the current transaction; `undefined` if the library has none. */
  readonly savepoint?: <T>(handle: unknown, run: () => Promise<T>) => Promise<T>;
  /** Begins a transaction without a callback; `undefined` if the library cannot. */
  readonly byHand?: () => Promise<{
    readonly handle: unknown;
    commit(): Promise<unknown>;
    rollback(): Promise<unknown>;
  }>;
  /** What is a connection, and no transaction. */
  readonly pool: unknown;
}

const undone = async (run: Promise<unknown>): Promise<void> => expect(run).rejects.toThrow('undone');

function undo(): never {
  throw new Error('undone');
}

/**
 * Tests everything that an adapter has to show. To be called while tests are collected.
 *
 * @param open makes the subject, on a database with the tables of an outbox
 */
export function testAdapter(open: () => Promise<Subject>): void {
  let subject: Subject;
  const ids = async (): Promise<unknown[]> => {
    const rows = await subject.adapter.query('SELECT message_id FROM delay_queue_outbox ORDER BY message_id', []);
    return rows.map((row) => (row as { message_id: unknown }).message_id);
  };
  /** What the producer does, deep in code that knows no transaction. */
  const write = async (id: string): Promise<string> => {
    await setImmediate();
    const transaction = subject.adapter.current();
    if (transaction?.state !== 'active') return transaction?.state ?? 'none';
    const place = subject.adapter.dialect === 'mysql' ? '?' : '$1';
    await transaction.query(
      `INSERT INTO delay_queue_outbox (shard, kind, topic, message_id) VALUES (0, 2, 't', ${place})`,
      [id],
    );
    return 'written';
  };
  const opened = async (): Promise<void> => {
    subject = await open();
    await subject.adapter.query('DELETE FROM delay_queue_outbox', []);
  };

  it('sees no transaction outside of one', async () => {
    await opened();
    expect(await write('a')).toBe('none');
    await subject.transaction(async () => {});
    expect(await write('a')).toBe('none');
  });

  it('writes within the current transaction: committed with it, or rolled back', async () => {
    await opened();
    expect(await subject.transaction(async () => write('a'))).toBe('written');
    await undone(subject.transaction(async () => (await write('b')) && undo()));
    expect(await ids()).toEqual(['a']);
  });

  it('mixes up no transactions that run at once', async () => {
    await opened();
    const names = Array.from({ length: 10 }, (_, i) => `m${i}`);
    const all = names.map(async (id, i) =>
      subject.transaction(async () => {
        await write(id);
        await setImmediate();
        if (i % 2) undo();
      }),
    );
    await Promise.allSettled(all);
    expect(await ids()).toEqual(names.filter((_, i) => i % 2 === 0));
  });

  it('runs a transaction of its own, which is the current one within', async () => {
    await opened();
    const { adapter } = subject;
    await adapter.transaction(async (transaction) => {
      expect(adapter.of(transaction.handle)).toBe(transaction);
      expect(await write('kept')).toBe('written');
    });
    const undoing = adapter.transaction(async () => {
      await write('undone');
      undo();
    });
    await undone(undoing);
    expect(await ids()).toEqual(['kept']);
  });

  it('leaves savepoints to the database', async () => {
    await opened();
    const { savepoint } = subject;
    if (!savepoint) return;
    await subject.transaction(async (handle) => {
      await write('before');
      await undone(savepoint(handle, async () => (await write('within')) && undo()));
      await savepoint(handle, async () => write('kept'));
      await write('after');
    });
    expect(await ids()).toEqual(['after', 'before', 'kept']);
  });

  it('follows a transaction that is begun by hand', async () => {
    await opened();
    const { byHand } = subject;
    if (!byHand) return;
    const seen: string[] = [];
    const undoing = await byHand();
    seen.push(await write('undone'));
    await undoing.rollback();
    const keeping = await byHand();
    seen.push(await write('kept'));
    expect(subject.adapter.of(keeping.handle)?.state).toBe('active');
    await keeping.commit();
    await setImmediate();
    seen.push(await write('later'));
    expect(seen).toEqual(['written', 'written', 'none']);
    expect(await ids()).toEqual(['kept']);
  });

  it('tells of the commit after it, and of no rollback', async () => {
    await opened();
    const told: unknown[] = [];
    const committed = new Promise<void>((resolve) => {
      void subject.transaction(async () => {
        subject.adapter.current()?.afterCommit(() => {
          told.push('committed');
          resolve();
        });
        await write('a');
        expect(told).toEqual([]);
      });
    });
    await undone(
      subject.transaction(async () => (subject.adapter.current()?.afterCommit(() => told.push('no')), undo())),
    );
    await committed;
    expect(told).toEqual(['committed']);
  });

  it('knows how the transaction has ended of code that outlives it', async () => {
    await opened();
    const left: Promise<string>[] = [];
    const gates = [new Gate(), new Gate()] as const;
    const leave = (gate: Gate): void => void left.push(gate.opened.then(async () => write('late')));
    await subject.transaction(async () => leave(gates[0]));
    await undone(subject.transaction(async () => (leave(gates[1]), undo())));
    for (const gate of gates) gate.open();
    expect(await Promise.all(left)).toEqual(['committed', 'rolled-back']);
    expect(await ids()).toEqual([]);
  });

  it('knows the handle of a transaction, and no other', async () => {
    await opened();
    const ended = await subject.transaction(async (handle) => {
      const transaction = subject.adapter.of(handle);
      expect(transaction).toMatchObject({ handle, state: 'active' });
      return handle;
    });
    expect(subject.adapter.of(ended)?.state).toBe('committed');
    for (const other of [subject.pool, {}, 'trx', null, 7]) expect(subject.adapter.of(other)).toBeUndefined();
  });
}
