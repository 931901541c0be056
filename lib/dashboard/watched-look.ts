import type { Clock } from '../time/clock.js';
import { sleep } from '../time/sleep.js';
import type { EventStream } from './event-streams.js';
import { refusalOf } from '../http/refusal.js';
import type { Taken } from './shared-looks.js';

/** Message of a stream about one of its looks. */
export interface Told {
  /** Number of the look, from 0 in the order of the request: a page has one stream for all of its looks. */
  readonly look: number;
  /** Age of the answer when this was sent, in milliseconds; not for events. */
  readonly age?: number | undefined;
  /** The answer; left out if it is the last one again, with another age. */
  readonly answer?: unknown;
  /** Error in place of an answer. */
  readonly error?: { readonly code: string; readonly message: string };
}

/** A look that is taken again and again. */
export interface WatchedLook {
  readonly look: () => Promise<Taken<unknown>>;
  /** Its number among the looks of its stream. */
  readonly number: number;
  readonly clock: Clock;
}

/** Time from one look to the next, in milliseconds. */
const INTERVAL = 2000;

/** Least by which an unchanged answer has to be younger to be worth a word, in milliseconds. */
const WORTH_A_WORD = 5000;

/**
 * Sends a browser the answer of a look, and again whenever that or its age has changed, until the stream ends. Never rejects.
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
