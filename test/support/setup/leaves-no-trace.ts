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
    'process.listenerCount': Reflect.get(process, 'listenerCount'),
  };
}

interface Process {
  /** As it was before the first file. */
  untouched?: Readonly<Record<string, unknown>>;
}

const { untouched } = Object.assign(globalThis as Process, {
  untouched: (globalThis as Process).untouched ?? shared(),
});
const environment = JSON.stringify(process.env);

function assertUntouched(who: string): void {
  const now = shared();
  const changed = Object.keys(now).filter((name) => now[name] !== untouched[name]);
  if (changed.length > 0) throw new Error(`${who} has left changed: ${changed.join(', ')}`);
}

// Vitest takes spies back once a file has ended, and so may put back what a spy has replaced, such as a fake timer.
assertUntouched('An earlier file of this process');

// The next file runs in the same process.
afterAll(() => {
  assertUntouched('This file');
  if (JSON.stringify(process.env) !== environment) throw new Error('This file has left changed: process.env');
});
