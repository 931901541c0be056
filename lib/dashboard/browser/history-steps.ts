import { useEffect, useState } from 'preact/hooks';

// Each step of the history keeps the scroll position of its page and what was loaded on it: a user who goes back finds the list again, and
// their place in it.

interface Step {
  scrolled: number;
  readonly kept: Map<string, unknown>;
}

/** State of a step that the browser keeps. */
interface StepState {
  readonly step: string;
  /** The fragment of the address before it. */
  readonly from?: string | undefined;
}

/** Most steps whose lists are kept. */
const MOST_STEPS = 50;

const steps = new Map<string, Step>();
let count = 0;
let current = begin(undefined);

// The browser would scroll before there is anything to scroll.
history.scrollRestoration = 'manual';

/**
 * Call this when the address has changed, before anything else is shown.
 *
 * @param from the fragment of the address before
 */
export function noteStep(from: string): void {
  const left = steps.get(current);
  if (left) left.scrolled = window.scrollY;
  current = begin(from);
}

/** Returns the name of the step that is shown. */
export function currentStep(): string {
  return current;
}

/** Returns the scroll position of the page when this step was left; `undefined` if it is new. */
export function scrolledBefore(): number | undefined {
  const { scrolled = -1 } = steps.get(current) ?? {};
  return scrolled < 0 ? undefined : scrolled;
}

/** Goes back if that leads to the address, whatever its parameters. Returns whether it does. */
export function goBackTo(address: string): boolean {
  const { from } = stateOf() ?? {};
  if (from === undefined || pathOf(from || '#/') !== pathOf(address)) return false;
  history.back();
  return true;
}

/** Like `useState`, but restores the state when the user comes back to this step. */
export function useKept<T>(name: string, initial: T): [T, (next: T) => void] {
  const [value, setValue] = useState(() => {
    const { kept } = steps.get(current) ?? {};
    return kept?.has(name) ? (kept.get(name) as T) : initial;
  });
  // The step may be another one by now.
  useEffect(() => void steps.get(current)?.kept.set(name, value));
  return [value, setValue];
}

/** Returns the fragment of an address without its parameters. */
function pathOf(fragment: string): string | undefined {
  return fragment.split('?')[0];
}

function begin(from: string | undefined): string {
  const known = stateOf()?.step;
  const step = known ?? `${Date.now()}.${++count}`;
  if (known === undefined) history.replaceState({ step, from } satisfies StepState, '');
  if (!steps.has(step)) steps.set(step, { scrolled: -1, kept: new Map() });
  const [oldest] = steps.keys();
  if (steps.size > MOST_STEPS && oldest !== undefined) steps.delete(oldest);
  return step;
}

function stateOf(): StepState | undefined {
  return (history.state ?? undefined) as StepState | undefined;
}
