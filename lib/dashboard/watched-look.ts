import { setTimeout as sleep } from 'node:timers/promises';
import type { EventStream } from './event-streams.js';
import { refusalOf } from './refusal-of.js';

/** What a stream says of one of the looks that it was asked for. */
export interface Told {
  /** Which of them, from 0 in the order of the question: a page has one stream for all of its looks. */
  readonly look: number;
  readonly answer?: unknown;
  /** Instead of an answer. */
  readonly error?: { readonly code: string; readonly message: string };
}

/** Time from one look to the next, in milliseconds. */
const INTERVAL = 2000;

/** Shows a browser what a look answers, and again whenever that has changed, until the stream ends. Never rejects. */
export async function watchLook(look: () => Promise<unknown>, number: number, stream: EventStream): Promise<void> {
  let shown = '';
  while (!stream.ended.aborted) {
    const text = await textOf(look, number);
    if (text !== shown && !stream.isFull) {
      shown = text;
      stream.send(text);
    }
    await sleep(INTERVAL, undefined, { signal: stream.ended }).catch(() => {});
  }
}

async function textOf(look: () => Promise<unknown>, number: number): Promise<string> {
  try {
    return JSON.stringify({ look: number, answer: await look() } satisfies Told);
  } catch (error) {
    const { code, message } = refusalOf(error) ?? { code: 'INTERNAL', message: 'The dashboard has failed.' };
    return JSON.stringify({ look: number, error: { code, message } } satisfies Told);
  }
}
