import { MAX_REPLICAS } from '../checks/limits.js';
import { assertInteger, assertOptions } from '../checks/validate.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { type Duration, describeDuration, parseDuration } from '../time/duration.js';

/**
 * How many replicas of Redis have to confirm a publish before it resolves, and how long it waits for them.
 *
 * @publicApi
 */
export interface ReplicaOptions {
  /** How many replicas, 1 to 100. */
  min: number;
  /** Longest time to wait for them, from 1 ms to `publishTimeout`; then the publish rejects with `NotReplicatedError`. */
  timeout: Duration;
}

/** The same, checked; the timeout in milliseconds. */
export interface ReplicaRequirement {
  readonly min: number;
  readonly timeout: number;
}

/**
 * @param name what the option is called in the error message
 * @param publishTimeout milliseconds
 * @throws InvalidArgumentError
 */
export function resolveReplicas(name: string, options: ReplicaOptions, publishTimeout: number): ReplicaRequirement {
  assertOptions(name, options, ['min', 'timeout']);
  const { min, timeout } = options;
  assertInteger(`${name}.min`, min, { min: 1, max: MAX_REPLICAS });
  const milliseconds = parseDuration(`${name}.timeout`, timeout, { min: 1 });
  if (milliseconds > publishTimeout) {
    throw new InvalidArgumentError(
      `${name}.timeout must be at most publishTimeout, which is ${describeDuration(publishTimeout)}. ` +
        `Given: ${describeDuration(milliseconds)}. Ask for less, or raise publishTimeout.`,
    );
  }
  return Object.freeze({ min, timeout: milliseconds });
}

/** Whether messages that ask for these can wait for the same replicas together. */
export function isSameRequirement(a: ReplicaRequirement | undefined, b: ReplicaRequirement | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.min === b.min && a.timeout === b.timeout);
}
