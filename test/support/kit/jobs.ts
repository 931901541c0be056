import { Injectable, Optional } from '@nestjs/common';
import { DelayedHandler, type DelayedMessage } from 'nestjs-delay-queue';
import { DelayQueueHarness } from 'nestjs-delay-queue/testing';

/** A call of the handler. */
export interface Call {
  readonly payload: unknown;
  readonly message: DelayedMessage;
  /** On the harness's clock. */
  readonly at: Date;
}

/** Handles topic `jobs`: notes each call, and answers it the way the test says. */
@Injectable()
export class Jobs {
  readonly calls: Call[] = [];
  respond: (payload: unknown, message: DelayedMessage) => unknown = () => undefined;
  /** Whose clock is noted; a test that overrides sets its own. */
  harness: DelayQueueHarness | undefined;

  constructor(@Optional() harness?: DelayQueueHarness) {
    this.harness = harness;
  }

  @DelayedHandler('jobs', { backoff: { type: 'fixed', delay: '1m' }, attempts: 3 })
  async handle(payload: unknown, message: DelayedMessage): Promise<unknown> {
    this.calls.push({ payload, message, at: this.harness?.now ?? new Date(NaN) });
    return this.respond(payload, message);
  }

  get ids(): string[] {
    return this.calls.map(({ message }) => message.id);
  }
}
