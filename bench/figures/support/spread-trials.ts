import type { Sizes } from '../../sizes.js';
import { QUEUES, type Trial } from '../figure.js';
import { lateness, leadFor } from './lateness.js';

export const PER_SECOND = 500;
export const CONCURRENCY = 100;

/** @param ahead milliseconds between publishing and due time; `undefined`: all are published before the first is due */
export function spreadTrials({ spread: messages, leadIn, warmUp }: Sizes, ahead?: number): Trial[] {
  const step = 1000 / PER_SECOND;
  const options = { messages, leadIn, step, ahead, concurrency: CONCURRENCY, warmUp };
  return QUEUES.map((name) => ({
    subject: name,
    measure: (bench) => lateness(bench, name, { ...options, lead: leadFor(name, leadIn + messages) }),
  }));
}
