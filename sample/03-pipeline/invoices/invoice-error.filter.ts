import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import { DelayQueueContext, UnrecoverableError } from 'nestjs-delay-queue';
import { AlreadyMailedError, InvoiceError } from './invoice.errors.js';

/** Turns domain errors, which know nothing about messages, into outcomes of a message. All other errors are retried. */
@Catch(InvoiceError)
export class InvoiceErrorFilter implements ExceptionFilter<InvoiceError> {
  private readonly logger = new Logger(InvoiceErrorFilter.name);

  /** @returns a value if the message needs no retry */
  catch(error: InvoiceError, host: ArgumentsHost): string {
    if (!(error instanceof AlreadyMailedError)) throw new UnrecoverableError(error.message, { cause: error });
    const { id } = DelayQueueContext.from(host).message;
    this.logger.log(`${id} needs nothing more: ${error.message}`);
    return 'nothing more to do';
  }
}
