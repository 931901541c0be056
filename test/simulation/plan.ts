import type { Accident } from './world/accidents.js';
import type { Faults } from './world/faults.js';

/** All that a simulation depends on, besides the product: it can be kept as JSON. */
export interface Plan {
  readonly seed: number;
  /** How many are published at least. */
  readonly messages: number;
  readonly processes: number;
  /** The revision of the build that some of the processes run, if there are two. */
  readonly with?: string | undefined;
  /** Those that the fleet has; `undefined`: those that the seed draws. */
  readonly topics?: readonly string[] | undefined;
  /** What goes wrong in place of what the seed draws. */
  readonly faults?: Partial<Faults> | undefined;
  /** What is done in the end; `undefined`: what the seed chooses. */
  readonly epilogue?: string | undefined;
  /** Of what the seed draws, what is left out. */
  readonly without?: readonly (keyof Faults)[];
  /** The accidents that may happen; `undefined`: all that chance decides. */
  readonly only?: readonly Accident[] | undefined;
}

/** The options of a program that say what it plays. */
export const PLAN_OPTIONS = {
  messages: { type: 'string', default: '2000' },
  processes: { type: 'string', default: '4' },
  topics: { type: 'string' },
  faults: { type: 'string', default: '{}' },
  epilogue: { type: 'string' },
  with: { type: 'string' },
} as const;

type PlanValues = Readonly<
  Record<'messages' | 'processes' | 'faults', string> & Partial<Record<'topics' | 'epilogue' | 'with', string>>
>;

export function planOf({ messages, processes, topics, faults, epilogue, ...values }: PlanValues, seed: number): Plan {
  return {
    seed,
    messages: Number(messages),
    processes: Number(processes),
    topics: topics?.split(','),
    faults: fromJson(faults) as Partial<Faults>,
    epilogue,
    with: values.with,
  };
}

/** A plan as it was saved. */
export function savedPlan(text: string): Plan {
  return fromJson(text) as Plan;
}

/** JSON has no `Infinity`, which is written as `null`. */
function fromJson(text: string): unknown {
  return JSON.parse(text, (_name, value: unknown) => value ?? Infinity);
}
