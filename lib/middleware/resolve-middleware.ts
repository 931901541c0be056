import { describe } from '../checks/describe.js';
import { assertOptions, isPlainObject } from '../checks/validate.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import type { DelayQueueMiddleware } from './middleware.interface.js';

const HOOKS = ['publish', 'handle', 'settle'] as const satisfies readonly (keyof DelayQueueMiddleware)[];

/** @throws InvalidArgumentError where it is no array of middleware */
export function resolveMiddleware(middleware: readonly DelayQueueMiddleware[]): readonly DelayQueueMiddleware[] {
  if (!Array.isArray(middleware)) {
    throw new InvalidArgumentError(
      `middleware must be an array of { publish, handle, settle }. Given: ${describe(middleware)}.`,
    );
  }
  middleware.forEach((one, i) => assertMiddleware(`middleware[${i}]`, one));
  return Object.freeze([...middleware]);
}

/** An instance of a class may have what it likes beside its functions; in a plain object that would be a misspelling. */
function assertMiddleware(name: string, one: DelayQueueMiddleware): void {
  assertOptions(name, one, isPlainObject(one) ? HOOKS : Object.keys(one ?? {}));
  for (const hook of HOOKS) {
    const given: unknown = one[hook];
    if (given === undefined || typeof given === 'function') continue;
    throw new InvalidArgumentError(`${name}.${hook} must be a function. Given: ${describe(given)}.`);
  }
  if (HOOKS.some((hook) => one[hook] !== undefined)) return;
  throw new InvalidArgumentError(
    `${name} has none of ${HOOKS.map((hook) => `'${hook}'`).join(', ')}. Given: ${describe(one)}.`,
  );
}
