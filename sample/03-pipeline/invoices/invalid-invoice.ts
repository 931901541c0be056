import type { ValidationError } from 'class-validator';
import { UnrecoverableError } from 'nestjs-delay-queue';

/** What a request would be answered with 400 for makes a message a dead letter: it would be no better the next time. */
export function invalidInvoice(errors: ValidationError[]): UnrecoverableError {
  const reasons = errors.flatMap(({ constraints = {} }) => Object.values(constraints));
  return new UnrecoverableError(`The payload is no invoice: ${reasons.join(', ')}`);
}
