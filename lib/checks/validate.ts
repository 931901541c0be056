import { ConfigurationError, InvalidArgumentError } from '../errors/options.errors.js';
import { describe } from './describe.js';
import { didYouMean } from './nearest.js';

/** Names that other queues use for options of this library. */
const OTHER_WORDS: ReadonlyMap<string, readonly string[]> = new Map([
  ['connection', ['redis']],
  ['url', ['redis']],
  ['queues', ['topics']],
  ['jobId', ['id']],
  ['messageId', ['id']],
  ['group', ['key']],
  ['data', ['payload']],
  ['retries', ['attempts']],
  ['maxAttempts', ['attempts']],
  ['maxRetries', ['attempts']],
  ['duration', ['per', 'timeout']],
  ['ttl', ['expireAfter']],
  ['ttr', ['lease']],
  ['visibilityTimeout', ['lease']],
  ['lockDuration', ['lease']],
  ['removeOnComplete', ['finished']],
  ['removeOnFail', ['deadLetter']],
  ['deduplication', ['onDuplicate']],
  ['runAt', ['deliverAt']],
  ['pattern', ['cron']],
  ['tz', ['timeZone']],
]);

/** Returns a hint at the option that was probably meant, to append to the error about an unknown one; empty if there is none. */
function meantOption(given: string, known: readonly string[]): string {
  if (given === 'priority')
    return ' Messages have no priority: give a handler several topics, the most urgent one first.';
  const same = OTHER_WORDS.get(given)?.find((word) => known.includes(word));
  return same === undefined ? didYouMean(given, known) : ` Here it is '${same}'.`;
}

/** Whether it is a number from `min` to `max`. */
export function isWithin(value: unknown, min: number, max: number): value is number {
  return typeof value === 'number' && value >= min && value <= max;
}

/**
 * @param name such as `consumer`, or `The publish options`
 * @throws InvalidArgumentError if `value` is not an object, or has a property that is not `allowed`
 */
export function assertOptions(name: string, value: unknown, allowed: readonly string[]): void {
  assertObject(name, value);
  // `Object.keys` would make an array for every message.
  for (const property in value) {
    if (Object.hasOwn(value, property) && !allowed.includes(property)) throw unknownOption(name, property, allowed);
  }
}

/** @throws InvalidArgumentError unless it is an object and not a list */
export function assertObject(name: string, value: unknown): asserts value is object {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return;
  throw new InvalidArgumentError(`${name} must be an object. Given: ${describe(value)}.`);
}

export function unknownOption(name: string, option: string, known: readonly string[]): InvalidArgumentError {
  return new InvalidArgumentError(
    `There is no option '${option}' in ${withinSentence(name)}.${meantOption(option, known)} ` +
      `Known options: ${known.join(', ')}.`,
  );
}

/** @throws InvalidArgumentError unless it is true or false */
export function assertBoolean(name: string, value: unknown): asserts value is boolean {
  if (typeof value === 'boolean') return;
  throw new InvalidArgumentError(`${name} must be true or false. Given: ${describe(value)}.`);
}

/** @throws InvalidArgumentError if `value` is not a whole number from `min` to `max` */
export function assertInteger(
  name: string,
  value: unknown,
  { min, max }: { min: number; max: number },
): asserts value is number {
  if (!Number.isInteger(value) || (value as number) < min || (value as number) > max) {
    throw new InvalidArgumentError(`${name} must be a whole number from ${min} to ${max}. Given: ${describe(value)}.`);
  }
}

/** @throws InvalidArgumentError if `value` is not one of `allowed` */
export function assertOneOf<T extends string>(name: string, value: unknown, allowed: readonly T[]): asserts value is T {
  if (!allowed.includes(value as T)) {
    throw new InvalidArgumentError(
      `${name} must be one of ${allowed.map((option) => `'${option}'`).join(', ')}. Given: ${describe(value)}.`,
    );
  }
}

/**
 * Runs checks of the application's options, and turns their argument errors into configuration errors.
 *
 * @param where owner of the options, such as `DelayQueueModule`
 * @throws ConfigurationError instead of an InvalidArgumentError
 */
export function asConfiguration<T>(where: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    throw new ConfigurationError(`${where}: ${error.message}`, { cause: error });
  }
}

function withinSentence(name: string): string {
  return name.replace(/^(?:The|An?|Its) /, (article) => article.toLowerCase());
}
