import { afterAll } from 'vitest';

/** What tests may put in the place of something that the whole process shares, and have to take away again. */
function shared(): Readonly<Record<string, unknown>> {
  const { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, performance, fetch, Date, Math } =
    globalThis;
  return {
    setTimeout,
    clearTimeout,
    setInterval,
    clearInterval,
    setImmediate,
    performance,
    fetch,
    Date,
    'Date.now': Date.now,
    'Math.random': Math.random,
    'process.env': JSON.stringify(process.env),
    'process.listenerCount': Reflect.get(process, 'listenerCount'),
  };
}

const before = shared();

// The next file runs in the same process.
afterAll(() => {
  const after = shared();
  const changed = Object.keys(before).filter((name) => after[name] !== before[name]);
  if (changed.length > 0) throw new Error(`This file has left changed: ${changed.join(', ')}`);
});
