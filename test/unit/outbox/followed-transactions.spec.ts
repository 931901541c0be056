import { setImmediate } from 'node:timers/promises';
import { FollowedTransactions } from 'nestjs-delay-queue/outbox';
import { expect, it } from 'vitest';

interface Handle {
  readonly name: string;
}

const followed = new FollowedTransactions<Handle>(async ({ name }, sql) => [{ name, sql }]);

/** Begins a transaction as a library does that takes a callback. */
async function transaction<T>(name: string, run: (handle: Handle) => Promise<T>): Promise<T> {
  return followed.follow(async (callback) => {
    await setImmediate();
    const result = await callback({ name });
    await setImmediate();
    return result;
  }, run);
}

/** Begins a transaction as a library does that returns it. */
async function begin(name: string): Promise<{ end(state: 'committed' | 'rolled-back'): void }> {
  const begun = followed.enter();
  return setImmediate().then(() => begun({ name }));
}

const nameOfCurrent = (): unknown => (followed.current()?.handle as Handle | undefined)?.name;

it('knows the transaction of each callback, however many run at once, and none outside', async () => {
  const names = ['a', 'b', 'c'];
  const seen = names.map((name) =>
    transaction(name, async () => {
      await setImmediate();
      return nameOfCurrent();
    }),
  );
  expect(nameOfCurrent()).toBeUndefined();
  expect(await Promise.all(seen)).toEqual(names);
  expect(nameOfCurrent()).toBeUndefined();
});

it('sends statements to it', async () => {
  expect(await transaction('a', async () => followed.current()?.query('SELECT 1', []))).toEqual([
    { name: 'a', sql: 'SELECT 1' },
  ]);
});

it('knows how it has ended, for code that was left behind, and calls those who wait for its commit', async () => {
  const told: string[] = [];
  const left = await transaction('a', async () => {
    followed.current()?.afterCommit(() => told.push('committed'));
    expect(told).toEqual([]);
    return { transaction: followed.current(), later: setImmediate().then(setImmediate).then(nameOfCurrent) };
  });
  expect(left.transaction?.state).toBe('committed');
  expect(await left.later).toBe('a');
  left.transaction?.afterCommit(() => told.push('late'));
  expect(told).toEqual(['committed', 'late']);

  let undone: ReturnType<typeof followed.current>;
  const failing = transaction('b', async () => {
    undone = followed.current();
    undone?.afterCommit(() => told.push('never'));
    throw new Error('undone');
  });
  await expect(failing).rejects.toThrow('undone');
  expect(undone?.state).toBe('rolled-back');
  expect(told).toHaveLength(2);
});

it('follows one that is begun by hand until its end', async () => {
  const first = await begin('a');
  expect(nameOfCurrent()).toBe('a');
  first.end('rolled-back');
  first.end('committed');
  expect(nameOfCurrent()).toBeUndefined();
});

it('knows the handles that it has followed', async () => {
  await transaction('a', async (handle) => {
    expect(followed.of(handle)).toMatchObject({ handle, state: 'active' });
  });
  expect(followed.of({ name: 'a' })).toBeUndefined();
  expect(followed.of('a')).toBeUndefined();
  expect(followed.of(null)).toBeUndefined();
});
