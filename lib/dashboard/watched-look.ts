import type { Clock } from '../time/clock.js';
import { sleep } from '../time/sleep.js';
import type { EventStream } from './event-streams.js';
import { refusalOf } from '../http/refusal.js';
import type { Taken } from './shared-looks.js';

/** What a stream says of one of the looks that it was asked for. */
export interface Told {
  /** Which of them, from 0 in the order of the question: a page has one stream for all of its looks. */
  readonly look: number;
  /** How old the answer was when this was sent, in milliseconds; not of events. */
  readonly age?: number | undefined;
  /** Left out if it is the last one again, with another age. */
  readonly answer?: unknown;
  /** Instead of an answer. */
  readonly error?: { readonly code: string; readonly message: string };
}

/** A look that is taken again and again. */
export interface WatchedLook {
  readonly look: () => Promise<Taken<unknown>>;
  /** Which of the looks of its stream it is. */
  readonly number: number;
  readonly clock: Clock;
}

/** Time from one look to the next, in milliseconds. */
const INTERVAL = 2000;

/** How much younger an answer that has not changed has to be before that is worth a word, in milliseconds. */
const WORTH_A_WORD = 5000;

/**
 * Shows a browser what a look answers, and again whenever that has changed, or how old it is by now, until the stream ends. Never
 * rejects.
 */
export async function watchLook({ look, number, clock }: WatchedLook, stream: EventStream): Promise<void> {
  let [shown, shownAt] = ['', 0];
  while (!stream.ended.aborted) {
    const { takenAt, ...said } = await saidBy(look);
    const text = JSON.stringify(said);
    const isNews = text !== shown;
    const isYounger = takenAt !== undefined && takenAt - shownAt >= WORTH_A_WORD;
    if ((isNews || isYounger) && !stream.isFull) {
      shown = text;
      shownAt = takenAt ?? 0;
      const age = takenAt === undefined ? undefined : clock.now() - takenAt;
      stream.send(JSON.stringify({ look: number, age, ...(isNews && said) } satisfies Told));
    }
    await sleep(clock, INTERVAL, stream.ended);
  }
}

async function saidBy(
  look: WatchedLook['look'],
): Promise<Pick<Told, 'answer' | 'error'> & { readonly takenAt?: number }> {
  try {
    return await look();
  } catch (error) {
    const { code, message } = refusalOf(error) ?? { code: 'INTERNAL', message: 'The dashboard has failed.' };
    return { error: { code, message } };
  }
}
