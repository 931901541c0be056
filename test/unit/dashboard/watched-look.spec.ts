import { expect, it } from 'vitest';
import { type Told, watchLook } from '../../../lib/dashboard/watched-look.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';

it('a stream says how old what it tells is, and of what has not changed only that, once it is younger', async () => {
  const clock = new ManualClock();
  const ended = new AbortController();
  const told: Told[] = [];
  const stream = { isFull: false, ended: ended.signal, send: (text: string) => told.push(JSON.parse(text) as Told) };
  let takenAt = clock.now() - 700;
  const look = async () => ({ answer: { due: 7 }, takenAt });
  const watching = watchLook({ look, number: 3, clock }, stream);
  await clock.advance(4000);
  expect(told.splice(0)).toEqual([{ look: 3, age: 700, answer: { due: 7 } }]);
  takenAt += 5000;
  await clock.advance(2000);
  expect(told).toEqual([{ look: 3, age: 1700 }]);
  ended.abort();
  await watching;
});
