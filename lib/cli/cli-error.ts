import { CommanderError } from '@commander-js/extra-typings';
import { isError } from '../checks/kinds.js';
import { DelayQueueError } from '../errors/delay-queue.error.js';
import { BrokerUnavailableError } from '../errors/operation.errors.js';
import { ConfigurationError, InvalidArgumentError } from '../errors/options.errors.js';
import { EXIT, type ExitCode } from './exit-codes.js';

/** An error for the person who typed a command, shown without a stack. */
export class CliError extends Error {
  constructor(
    readonly exitCode: ExitCode,
    readonly code: 'USAGE' | 'NOT_FOUND' | 'NOT_CONFIRMED' | 'INTERRUPTED',
    message: string,
  ) {
    super(message);
  }
}

export function usageError(message: string): CliError {
  return new CliError(EXIT.usage, 'USAGE', message);
}

export function notFound(message: string): CliError {
  return new CliError(EXIT.no, 'NOT_FOUND', message);
}

/** Report of an error, and exit code of the process. */
export interface ToldError {
  readonly exitCode: ExitCode;
  readonly code: string;
  readonly message: string;
}

export function toldError(error: unknown): ToldError {
  if (error instanceof CliError) return { exitCode: error.exitCode, code: error.code, message: error.message };
  if (error instanceof CommanderError) {
    return { exitCode: EXIT.usage, code: 'USAGE', message: error.message.replace(/^error: /, '') };
  }
  // The library refused an option of the command line.
  if (error instanceof ConfigurationError && error.cause instanceof InvalidArgumentError) return toldError(error.cause);
  if (error instanceof DelayQueueError) {
    return { exitCode: exitCodeOf(error), code: error.code, message: error.message };
  }
  const fault = isError(error) ? (error.stack ?? error.message) : String(error);
  return { exitCode: EXIT.internal, code: 'INTERNAL', message: `This is a fault of nestjs-delay-queue: ${fault}` };
}

function exitCodeOf(error: DelayQueueError): ExitCode {
  if (error instanceof ConfigurationError) return EXIT.configuration;
  if (error instanceof BrokerUnavailableError) return error.transient ? EXIT.unavailable : EXIT.configuration;
  return error.code === 'DUPLICATE_MESSAGE' || error.code === 'NOT_REPLICATED' ? EXIT.no : EXIT.usage;
}
