import { MAX_REPLICAS } from '../checks/limits.js';
import { type Rules, described, duration, integer, objectOf } from '../checks/rules.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { type Duration, describeDuration } from '../time/duration.js';

/**
 * Number of Redis replicas that have to confirm a publish before it resolves, and the time it waits for them.
 *
 * @publicApi
 */
export interface ReplicaOptions {
  /** Number of replicas, 1 to 100. */
  min: number;
  /** Longest time to wait for them, from 1 ms to `publishTimeout`; then the publish rejects with `NotReplicatedError`. */
  timeout: Duration;
}

/** Checked {@link ReplicaOptions}, with the timeout in milliseconds. */
export interface ReplicaRequirement {
  readonly min: number;
  readonly timeout: number;
}

/**
 * @param name the option's name in the error message
 * @param publishTimeout milliseconds
 * @throws InvalidArgumentError
 */
export function resolveReplicas(name: string, options: ReplicaOptions, publishTimeout: number): ReplicaRequirement {
  return withinTimeout(name, REPLICAS(name, options), publishTimeout);
}

/** @throws InvalidArgumentError if it would wait longer than the time limit of a publish */
export function withinTimeout(
  name: string,
  requirement: ReplicaRequirement,
  publishTimeout: number,
): ReplicaRequirement {
  if (requirement.timeout <= publishTimeout) return Object.freeze(requirement);
  throw new InvalidArgumentError(
    `${name}.timeout must be at most publishTimeout, which is ${describeDuration(publishTimeout)}. ` +
      `Given: ${describeDuration(requirement.timeout)}. Ask for less, or raise publishTimeout.`,
  );
}

export const REPLICAS = objectOf({
  min: described('How many.', integer(1, MAX_REPLICAS)),
  timeout: described(
    'Longest time to wait for them. Then the publish is refused, though the message is stored.',
    duration(1, Number.MAX_SAFE_INTEGER),
  ),
} satisfies Rules<ReplicaOptions>);

/** Number of requirements that wait separately. */
export const MOST_APART = 4;

/** Most requirements that are remembered: each publish can ask for a different one. */
const MOST_KNOWN = 100;

/**
 * Gives requirements numbers below {@link MOST_APART}. Publishes with different numbers wait separately: one that asks for more replicas
 * than there are must not keep the others waiting.
 */
export class RequirementNumbers {
  readonly #numbers = new Map<string, number>();

  /** If there are more requirements than numbers, some share one. */
  of({ min, timeout }: ReplicaRequirement): number {
    const requirement = `${min} ${timeout}`;
    const known = this.#numbers.get(requirement);
    if (known !== undefined) return known;
    const number = this.#numbers.size % MOST_APART;
    if (this.#numbers.size < MOST_KNOWN) this.#numbers.set(requirement, number);
    return number;
  }
}

/** Whether messages with these requirements can wait for the same replicas together. */
export function isSameRequirement(a: ReplicaRequirement | undefined, b: ReplicaRequirement | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.min === b.min && a.timeout === b.timeout);
}
