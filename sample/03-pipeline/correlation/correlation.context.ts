import { AsyncLocalStorage } from 'node:async_hooks';
import { Injectable } from '@nestjs/common';

/** Holds the id of the request for which the current code runs, directly or through messages. */
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
