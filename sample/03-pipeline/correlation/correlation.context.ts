import { AsyncLocalStorage } from 'node:async_hooks';
import { Injectable } from '@nestjs/common';

/** Knows for which request, or for which chain of messages that it began, the code that asks is running. */
@Injectable()
export class CorrelationContext {
  private readonly storage = new AsyncLocalStorage<string>();

  get id(): string | undefined {
    return this.storage.getStore();
  }

  run<T>(id: string, callback: () => T): T {
    return this.storage.run(id, callback);
  }
}
