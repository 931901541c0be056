import { type Signal, effect, signal } from '@preact/signals';

/** A choice of the user that this browser remembers. */
export function storedChoice<T extends string>(name: string, choices: readonly T[], fallback: T): Signal<T> {
  const key = `delay-queue-dashboard.${name}`;
  const stored = readStored(key);
  const choice = signal(choices.find((one) => one === stored) ?? fallback);
  effect(() => {
    try {
      localStorage.setItem(key, choice.value);
    } catch {
      // A browser without storage forgets the choice.
    }
  });
  return choice;
}

function readStored(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}
