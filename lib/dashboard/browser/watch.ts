import { signal } from '@preact/signals';
import type { Told } from '../watched-look.js';
import { waitAfter } from './retrying.js';

/** A look that is to be told of again and again. */
interface Watched {
  /** With its parameters. */
  readonly path: string;
  readonly told: (answer: unknown) => void;
  readonly failed?: (error: NonNullable<Told['error']>) => void;
}

/** For so long nobody hears that the stream is away, in milliseconds: the server ends each after some minutes, and it comes again. */
const GRACE = 5000;

/** Whether news of what is shown comes. */
export const isConnected = signal(true);

/** What the page shows. It has one stream for all of it, since a browser has six connections to a server. */
const watched = new Set<Watched>();

let source: EventSource | undefined;
let failures = 0;
let reopening: ReturnType<typeof setTimeout> | undefined;
let grace: ReturnType<typeof setTimeout> | undefined;

/** Tells what a look answers, and again whenever that has changed; nothing while the page is hidden. Answers what ends that. */
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

/** What is watched changes several times while a page is drawn, and once after that is enough. */
function reopenIn(milliseconds: number): void {
  clearTimeout(reopening);
  reopening = setTimeout(reopen, milliseconds);
}

function reopen(): void {
  source?.close();
  source = undefined;
  const looks = [...watched];
  if (looks.length === 0 || document.visibilityState === 'hidden') return found();
  const asked = new URLSearchParams(looks.map(({ path }) => ['look', path]));
  const opened = new EventSource(`api/watch?${asked.toString()}`);
  source = opened;
  missed();
  opened.addEventListener('open', () => {
    failures = 0;
    found();
  });
  opened.addEventListener('error', () => {
    missed();
    // The browser connects again by itself only if the connection has ended, not if the answer was an error.
    if (opened.readyState === EventSource.CLOSED) reopenIn(waitAfter(++failures));
  });
  opened.addEventListener('message', ({ data }: MessageEvent<string>) => {
    const { look, answer, error } = JSON.parse(data) as Told;
    if (error) looks[look]?.failed?.(error);
    else looks[look]?.told(answer);
  });
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
