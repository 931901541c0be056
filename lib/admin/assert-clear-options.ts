import { describe } from '../checks/describe.js';
import { assertOptions } from '../checks/validate.js';
import { InvalidArgumentError } from '../errors/invalid-argument.error.js';
import type { ClearOptions } from './clear-options.interface.js';

/** @throws InvalidArgumentError: a dry run that is misspelt would be none */
export function assertClearOptions(options: ClearOptions): void {
  assertOptions('The options of drain and purge', options, ['dryRun', 'signal']);
  const { dryRun, signal } = options;
  if (dryRun !== undefined && typeof dryRun !== 'boolean') {
    throw new InvalidArgumentError(`dryRun must be true or false. Given: ${describe(dryRun)}.`);
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new InvalidArgumentError(`signal must be an AbortSignal. Given: ${describe(signal)}.`);
  }
}
