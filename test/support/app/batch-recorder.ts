import { Injectable, type Type } from '@nestjs/common';
import { type DelayedMessage, DelayedHandler, type HandlerOptions } from 'nestjs-delay-queue';
import { SOON, eventually } from '../waiting.js';

/** What a handler of batches was called with. */
export interface BatchCall {
  readonly payloads: readonly unknown[];
  readonly messages: readonly DelayedMessage[];
}

/** What a handler does; `call` counts its calls from 1. */
export type Respond = (messages: readonly DelayedMessage[], call: number) => unknown;

/** Records each call of a handler of batches, and answers as the test decides. */
export abstract class BatchRecorder {
  readonly calls: BatchCall[] = [];
  /** What the handler does; by default it acknowledges all. */
  respond: Respond = () => undefined;
  /** Running handler calls. */
  running = 0;
  mostRunning = 0;

  get sizes(): number[] {
    return this.calls.map(({ messages }) => messages.length);
  }

  /** Ids of the messages of each call. */
  get ids(): string[][] {
    return this.calls.map(({ messages }) => messages.map(({ id }) => id));
  }

  /** Resolves with the first `count` calls, once there are that many. */
  async called(count = 1, timeout = SOON): Promise<BatchCall[]> {
    return eventually(() => {
      if (this.calls.length < count) throw new Error(`${this.calls.length} of ${count} handler calls so far`);
      return this.calls.slice(0, count);
    }, timeout);
  }

  /** The decorated method calls this. */
  protected async take(payloads: readonly unknown[], messages: readonly DelayedMessage[]): Promise<unknown> {
    const call = this.calls.push({ payloads, messages });
    this.running++;
    this.mostRunning = Math.max(this.mostRunning, this.running);
    try {
      return await this.respond(messages, call);
    } finally {
      this.running--;
    }
  }
}

/** Makes a class with one method, which handles batches. */
export function batchHandler(topics: string | string[], options: HandlerOptions): Type<BatchRecorder> {
  @Injectable()
  class Jobs extends BatchRecorder {
    @DelayedHandler(topics, options)
    async work(payloads: unknown[], messages: DelayedMessage[]) {
      return this.take(payloads, messages);
    }
  }
  return Jobs;
}
