import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Injectable, type NestMiddleware } from '@nestjs/common';
import { CORRELATION_ID } from './correlation-id.constants.js';
import { CorrelationContext } from './correlation.context.js';

/** Runs each request with the correlation id from its client, or with a new one. */
@Injectable()
export class CorrelationMiddleware implements NestMiddleware<IncomingMessage, ServerResponse> {
  constructor(private readonly correlation: CorrelationContext) {}

  use({ headers }: IncomingMessage, response: ServerResponse, next: () => void): void {
    const given = headers[CORRELATION_ID];
    const id = typeof given === 'string' ? given : randomUUID();
    response.setHeader(CORRELATION_ID, id);
    this.correlation.run(id, next);
  }
}
