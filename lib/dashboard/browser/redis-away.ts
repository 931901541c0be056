import { computed, signal } from '@preact/signals';
import { now } from './format.js';

/** Code of the server's answers while it cannot reach Redis. */
const CODE = 'BROKER_UNAVAILABLE';

interface Failing {
  readonly message: string;
  readonly since: number;
}

/** The looks that fail because Redis is away. */
const failing = signal<ReadonlyMap<string, Failing>>(new Map());

/** Why Redis cannot be reached, and since when this page knows; `undefined` while it answers. */
export const redisAway = computed<Failing | undefined>(() =>
  [...failing.value.values()].toSorted((a, b) => a.since - b.since).at(0),
);

/** Whether an error says no more than {@link redisAway}. */
export function isOfRedisAway(error: unknown): boolean {
  return (error as { code?: unknown }).code === CODE;
}

/** Call this with the outcome of a look; without an error when it was answered, or is no longer shown. */
export function noteLook(path: string, error?: { readonly code: string; readonly message: string }): void {
  const before = failing.value.get(path);
  if (error?.code === CODE) {
    const since = before?.since ?? redisAway.value?.since ?? now();
    failing.value = new Map(failing.value).set(path, { message: error.message, since });
  } else if (before) {
    failing.value = new Map([...failing.value].filter(([other]) => other !== path));
  }
}
