import type { IncomingMessage } from 'node:http';
import { type CallHandler, type ExecutionContext, Injectable, Logger, type NestInterceptor } from '@nestjs/common';
import { DelayQueueContext } from 'nestjs-delay-queue';
import { type Observable, tap } from 'rxjs';

/** Logs one line for each request and delivery: what it was, how it ended, and how long it took. */
@Injectable()
export class LoggingInterceptor implements NestInterceptor {
  private readonly logger = new Logger(LoggingInterceptor.name);

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const what = describe(context);
    const startedAt = performance.now();
    const duration = (): string => `${(performance.now() - startedAt).toFixed(1)} ms`;
    return next.handle().pipe(
      tap({
        complete: () => this.logger.log(`${what} succeeded after ${duration()}`),
        error: (error: unknown) => this.logger.warn(`${what} failed after ${duration()}: ${String(error)}`),
      }),
    );
  }
}

function describe(context: ExecutionContext): string {
  if (context.getType<string>() === 'delay-queue') {
    const { topic, id, attempt } = DelayQueueContext.from(context).message;
    return `${topic} ${id}, attempt ${attempt},`;
  }
  const { method, url } = context.switchToHttp().getRequest<IncomingMessage>();
  return `${method} ${url}`;
}
