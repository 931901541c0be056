import { CommanderError } from '@commander-js/extra-typings';
import { expect, it } from 'vitest';
import { asConfiguration } from '../../../lib/checks/validate.js';
import { CliError, notFound, toldError, usageError } from '../../../lib/cli/cli-error.js';
import { EXIT } from '../../../lib/cli/exit-codes.js';
import { BrokerUnavailableError } from '../../../lib/errors/operation.errors.js';
import { ConfigurationError, InvalidArgumentError } from '../../../lib/errors/options.errors.js';
import { DuplicateMessageError, PayloadTooLargeError } from '../../../lib/errors/publishing.errors.js';

function refusedOption(): unknown {
  try {
    return asConfiguration('program', () => {
      throw new InvalidArgumentError('prefix must be …');
    });
  } catch (error) {
    return error;
  }
}

it.each([
  { error: usageError('wrong'), exitCode: 2, code: 'USAGE', message: 'wrong' },
  { error: notFound('gone'), exitCode: 1, code: 'NOT_FOUND', message: 'gone' },
  { error: new CliError(EXIT.unconfirmed, 'NOT_CONFIRMED', 'no'), exitCode: 4, code: 'NOT_CONFIRMED', message: 'no' },
  {
    error: new CommanderError(1, 'commander.x', "error: unknown option '-x'"),
    exitCode: 2,
    code: 'USAGE',
    message: "unknown option '-x'",
  },
  {
    error: new InvalidArgumentError('limit must be …'),
    exitCode: 2,
    code: 'INVALID_ARGUMENT',
    message: 'limit must be …',
  },
  { error: refusedOption(), exitCode: 2, code: 'INVALID_ARGUMENT', message: 'prefix must be …' },
  {
    error: new PayloadTooLargeError(2, 1),
    exitCode: 2,
    code: 'PAYLOAD_TOO_LARGE',
    message: expect.any(String) as string,
  },
  {
    error: new DuplicateMessageError('t', 'a'),
    exitCode: 1,
    code: 'DUPLICATE_MESSAGE',
    message: expect.any(String) as string,
  },
  { error: new BrokerUnavailableError('away'), exitCode: 3, code: 'BROKER_UNAVAILABLE', message: 'away' },
  {
    error: new BrokerUnavailableError('denied', { transient: false }),
    exitCode: 5,
    code: 'BROKER_UNAVAILABLE',
    message: 'denied',
  },
  { error: new ConfigurationError('too old'), exitCode: 5, code: 'CONFIGURATION', message: 'too old' },
])('an error of which nobody needs the stack: $code ends with $exitCode', ({ error, ...told }) => {
  expect(toldError(error)).toEqual(told);
});

it.each([new TypeError('x is not a function'), 'text', undefined])(
  'a fault of the program itself is told with all there is: %s',
  (error) => {
    const { exitCode, code, message } = toldError(error);
    expect([exitCode, code]).toEqual([70, 'INTERNAL']);
    expect(message).toMatch(error instanceof Error ? /x is not a function\n +at / : /: (text|undefined)$/);
  },
);
