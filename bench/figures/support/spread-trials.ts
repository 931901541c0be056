import type { Sizes } from '../../sizes.js';
import { QUEUES, type Trial } from '../figure.js';
import { lateness, leadFor } from './lateness.js';

export const PER_SECOND = 500;
export const CONCURRENCY = 100;

/** How many messages are spread over time, and how. */
export interface Spread extends Pick<Sizes, 'spread' | 'leadIn' | 'warmUp'> {
  /** @defaultValue PER_SECOND */
  readonly perSecond?: number;
  /** Milliseconds between publishing and due time. @defaultValue all are published before the first is due */
  readonly ahead?: number;
}

export function spreadTrials({ spread: messages, leadIn, warmUp, perSecond = PER_SECOND, ahead }: Spread): Trial[] {
  const step = 1000 / perSecond;
  const options = { messages, leadIn, step, ahead, concurrency: CONCURRENCY, warmUp };
  return QUEUES.map((name) => ({
    subject: name,
    measure: (bench) => lateness(bench, name, { ...options, lead: leadFor(name, leadIn + messages) }),
  }));
}
