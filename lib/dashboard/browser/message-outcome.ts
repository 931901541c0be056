/** An action on one message. */
export type Action = 'runNow' | 'reschedule' | 'edit' | 'cancel' | 'requeue' | 'remove';

/** Outcome of an action, or the state that the message was in instead. */
export type Outcome = 'done' | 'in-flight' | 'dead' | 'gone';

/** @param answer answer of the server: a word, or the number of dead letters that were requeued or removed */
export function outcomeOf(action: Action, answer: unknown): Outcome {
  const { result, changed } = answer as Record<string, unknown>;
  if (result === 'dead' || (result === 'in-flight' && action !== 'cancel')) return result;
  const isDone = typeof result === 'string' ? result !== 'not-found' : Number(changed) > 0;
  return isDone ? 'done' : 'gone';
}
