import { describe } from '../checks/describe.js';
import { MAX_CONSUMER_LENGTH } from '../checks/limits.js';
import { InvalidArgumentError } from '../errors/options.errors.js';

/** Whether a value is a valid name of a receiver. */
export function isConsumer(name: unknown): name is string {
  return typeof name === 'string' && name.length > 0 && name.length <= MAX_CONSUMER_LENGTH;
}

/** @throws InvalidArgumentError if it is not a valid name */
export function checkedConsumer(name: string, given: unknown): string {
  if (isConsumer(given)) return given;
  throw new InvalidArgumentError(
    `${name} must be a string of 1 to ${MAX_CONSUMER_LENGTH} characters. Given: ${describe(given)}.`,
  );
}
