import { expect, it } from 'vitest';
import { type Action, outcomeOf } from '../../../lib/dashboard/browser/message-outcome.js';

it.each<[Action, object, string]>([
  ['runNow', { result: 'moved' }, 'done'],
  ['reschedule', { result: 'in-flight' }, 'in-flight'],
  ['edit', { result: 'edited' }, 'done'],
  ['edit', { result: 'dead' }, 'dead'],
  ['edit', { result: 'not-found' }, 'gone'],
  ['cancel', { result: 'cancelled' }, 'done'],
  ['cancel', { result: 'in-flight' }, 'done'],
  ['cancel', { result: 'not-found' }, 'gone'],
  ['requeue', { changed: 1 }, 'done'],
  ['requeue', { changed: 0 }, 'gone'],
  ['remove', { changed: 1 }, 'done'],
  ['remove', { changed: 0 }, 'gone'],
])('%s that is answered %j is told as %s', (action, answer, outcome) => {
  expect(outcomeOf(action, answer)).toBe(outcome);
});
