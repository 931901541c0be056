import { signal } from '@preact/signals';
import type { Told } from '../watched-look.js';
import { ApiError, ask, isSessionOver } from './asked.js';
import { waitAfter } from './retrying.js';
import { type GiveBack, takePlace } from './stream-places.js';

/** A look whose answers are reported again and again. */
interface Watched {
  /** Path with its parameters. */
  readonly path: string;
  /** @param at time of the look, in epoch milliseconds by the clock of this browser */
  readonly told: (answer: unknown, at: number) => void;
  readonly failed?: (error: ApiError) => void;
  /** Whether it is about events as they happen, which cannot be requested afterwards. */
  readonly isLive?: boolean;
}

/** Time for which a missing stream is not reported, in milliseconds: the server ends each stream after some minutes, and it comes again. */
const GRACE = 5000;

/** Time between the requests of a window without a stream, in milliseconds. */
const ASKED_EVERY = 2000;

/** Whether news about what is shown arrives. */
export const isConnected = signal(true);

/** Whether other windows have all the streams, so that this one gets no events. */
export const isWithoutStream = signal(false);

/** The looks of the page. It has one stream for all of them, or polls if other windows of its browser have all the streams allowed. */
const watched = new Set<Watched>();

let place: Promise<GiveBack | undefined> | undefined;
let end = (): void => {};
let failures = 0;
let reopening: ReturnType<typeof setTimeout> | undefined;
let grace: ReturnType<typeof setTimeout> | undefined;

/** Reports the answer of a look, and again whenever it has changed; not while the page is hidden. Returns a function that ends that. */
export function watch(one: Watched): () => void {
  watched.add(one);
  reopenIn(0);
  return () => {
    watched.delete(one);
    reopenIn(0);
  };
}

document.addEventListener('visibilitychange', () => {
  failures = 0;
  reopenIn(0);
});

/** Reopens the stream later: the looks change several times while a page is drawn, and once after that is enough. */
function reopenIn(milliseconds: number): void {
  clearTimeout(reopening);
  reopening = setTimeout(() => void reopen(), milliseconds);
}

async function reopen(): Promise<void> {
  end();
  const looks = [...watched];
  if (looks.length === 0 || document.visibilityState === 'hidden') {
    void place?.then((giveBack) => giveBack?.());
    place = undefined;
    return found();
  }
  let isWanted = true;
  end = () => {
    isWanted = false;
  };
  const taking = (place ??= takePlace());
  const isTaken = (await taking) !== undefined;
  // A place may be free the next time.
  if (!isTaken && place === taking) place = undefined;
  if (!isWanted) return;
  // Where places are unknown, streams are only for looks that need one.
  const streams = isTaken || (!('locks' in navigator) && looks.some(({ isLive }) => isLive));
  isWithoutStream.value = !streams;
  end = streams ? follow(looks) : askAgainAndAgain(looks);
}

/** Opens a stream; returns a function that ends it. */
function follow(looks: readonly Watched[]): () => void {
  const asked = new URLSearchParams(looks.map(({ path }) => ['look', path]));
  const opened = new EventSource(`api/watch?${asked.toString()}`);
  const answers: unknown[] = [];
  missed();
  opened.addEventListener('open', () => {
    failures = 0;
    isSessionOver.value = false;
    found();
  });
  opened.addEventListener('error', () => {
    missed();
    // The browser reconnects by itself only if the connection has ended, not if the answer was an error.
    if (opened.readyState !== EventSource.CLOSED) return;
    reopenIn(waitAfter(++failures));
    // It does not say which error, such as that the session is over; the next answer does.
    ask('api/session').catch(() => {});
  });
  opened.addEventListener('message', ({ data }: MessageEvent<string>) => {
    const { look, age = 0, error, ...said } = JSON.parse(data) as Told;
    if (error) return looks[look]?.failed?.(new ApiError(error.code, error.message));
    if ('answer' in said) answers[look] = said.answer;
    looks[look]?.told(answers[look], Date.now() - age);
  });
  return () => opened.close();
}

/** Requests each look again and again; returns a function that ends that. */
function askAgainAndAgain(looks: readonly Watched[]): () => void {
  const ended = new AbortController();
  const askFor = async ({ path, told, failed }: Watched): Promise<void> => {
    try {
      const { answer, at } = await ask(path, { signal: ended.signal });
      if (ended.signal.aborted) return;
      found();
      told(answer, at);
    } catch (error) {
      if (ended.signal.aborted || !(error instanceof ApiError)) return;
      if (error.code === 'UNREACHABLE') missed();
      else found();
      failed?.(error);
    }
  };
  const askForAll = async (): Promise<void> => {
    await Promise.all(looks.filter(({ isLive }) => !isLive).map(askFor));
    if (!ended.signal.aborted) timer = setTimeout(() => void askForAll(), ASKED_EVERY);
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  void askForAll();
  return () => {
    ended.abort();
    clearTimeout(timer);
  };
}

function found(): void {
  clearTimeout(grace);
  grace = undefined;
  isConnected.value = true;
}

function missed(): void {
  grace ??= setTimeout(() => {
    isConnected.value = false;
  }, GRACE);
}
