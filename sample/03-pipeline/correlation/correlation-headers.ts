import { Injectable } from '@nestjs/common';
import type { DelayedMessage, DelayQueueMiddleware, OutgoingMessage, PublishedMessage } from 'nestjs-delay-queue';
import { CORRELATION_ID } from './correlation-id.constants.js';
import { CorrelationContext } from './correlation.context.js';

/** Adds the correlation id to each published message, and restores it around the handler. */
@Injectable()
export class CorrelationHeaders implements DelayQueueMiddleware {
  constructor(private readonly correlation: CorrelationContext) {}

  async publish(
    messages: readonly OutgoingMessage[],
    next: () => Promise<PublishedMessage[]>,
  ): Promise<PublishedMessage[]> {
    const { id } = this.correlation;
    if (id !== undefined) for (const { headers } of messages) headers[CORRELATION_ID] = id;
    return next();
  }

  async handle([message]: readonly DelayedMessage[], next: () => Promise<unknown>): Promise<unknown> {
    const id = message?.headers[CORRELATION_ID];
    return id === undefined ? next() : this.correlation.run(id, next);
  }
}
