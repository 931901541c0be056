import type { Action } from '../rules/operator-rules.js';
import type { Caller, Known } from '../rules/known.js';
import type { Setting } from './activity.js';

/** Makes a call that changes something, and has the rules know what came of it; it answers `undefined` if it has changed nothing. */
export async function told<T>(known: Known<T>, by: Caller, call: () => Promise<T | undefined>): Promise<void> {
  const change = known.asked(by);
  try {
    const value = await call();
    if (value === undefined) known.without(change);
    else known.confirmed(change, value);
  } catch (error) {
    known.failed(change);
    throw error;
  }
}

/** Makes a call that changes the state of messages. */
export async function actOn({ scene }: Setting, action: Action, call: () => Promise<void>): Promise<void> {
  const { operators } = scene.rules;
  try {
    await call();
    operators.ended(action);
  } catch (error) {
    operators.failed(action);
    throw error;
  }
}
