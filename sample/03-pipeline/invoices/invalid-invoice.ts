import type { ValidationError } from 'class-validator';
import { UnrecoverableError } from 'nestjs-delay-queue';

/** Makes an invalid message a dead letter, as an HTTP API would answer 400: a retry would not help. */
export function invalidInvoice(errors: ValidationError[]): UnrecoverableError {
  const reasons = errors.flatMap(({ constraints = {} }) => Object.values(constraints));
  return new UnrecoverableError(`The payload is no invoice: ${reasons.join(', ')}`);
}
