import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  ServiceUnavailableException,
} from '@nestjs/common';
import { BrokerUnavailableError } from 'nestjs-delay-queue';
import { type Observable, catchError } from 'rxjs';

/** Answers 503 if Redis did not confirm the message of a request: the client may try again. */
@Injectable()
export class BrokerUnavailableInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(
      catchError((error: unknown) => {
        if (!(error instanceof BrokerUnavailableError)) throw error;
        throw new ServiceUnavailableException('The queue cannot be reached, try again later', { cause: error });
      }),
    );
  }
}
