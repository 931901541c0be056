import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import { DelayQueueContext, UnrecoverableError } from 'nestjs-delay-queue';
import { AlreadyMailedError, InvoiceError } from './invoice.errors.js';

/** Says what the errors of the domain, which know nothing of messages, mean for one. All others are left to be retried. */
@Catch(InvoiceError)
export class InvoiceErrorFilter implements ExceptionFilter<InvoiceError> {
  private readonly logger = new Logger(InvoiceErrorFilter.name);

  /** @returns a value where the message is done with */
  catch(error: InvoiceError, host: ArgumentsHost): string {
    if (!(error instanceof AlreadyMailedError)) throw new UnrecoverableError(error.message, { cause: error });
    const { id } = DelayQueueContext.from(host).message;
    this.logger.log(`${id} needs nothing more: ${error.message}`);
    return 'nothing more to do';
  }
}
