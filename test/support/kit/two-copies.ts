import { Inject, Injectable, type PipeTransform, type Type } from '@nestjs/common';
import type { DeadLetter, DelayedMessage, DelayQueueProducer } from 'nestjs-delay-queue';
import { afterEach, beforeEach } from 'vitest';
import { type Copy, type Library, forgetCopies, loadCopy } from './another-copy.js';
import { START, boot } from './kit-bed.js';

/** Two copies that a test has to itself. */
export interface TwoCopies {
  /** Whose module the application imports. */
  here: Copy;
  /** What some of its code uses. */
  there: Copy;
}

/** To be called in each file: loads two copies for each test, the only ones that are known. */
export function useTwoCopies(): TwoCopies {
  const copies = {} as TwoCopies;
  beforeEach(async () => {
    forgetCopies();
    copies.here = await loadCopy();
    copies.there = await loadCopy();
  });
  afterEach(forgetCopies);
  return copies;
}

/** What {@link worker} makes a class of. */
export interface Work {
  readonly calls: DelayedMessage[];
  readonly letters: DeadLetter[];
  readonly producer: DelayQueueProducer;
  respond: (message: DelayedMessage) => unknown;
}

const doubling: PipeTransform<number, number> = { transform: (value) => value * 2 };

/** Handles a topic of a connection, and is made with what a copy exports. */
export function worker(copy: Library, topic = 'jobs', connection?: string): Type<Work> {
  const of = connection === undefined ? {} : { connection };
  const injected =
    connection === undefined ? Inject(copy.DelayQueueProducer) : copy.InjectDelayQueueProducer(connection);

  @Injectable()
  class Worker implements Work {
    readonly calls: DelayedMessage[] = [];
    readonly letters: DeadLetter[] = [];
    respond: (message: DelayedMessage) => unknown = () => undefined;

    constructor(@injected readonly producer: DelayQueueProducer) {}

    @copy.DelayedHandler(topic, { ...of, attempts: 3, backoff: { type: 'fixed', delay: '1m' } })
    handle(@copy.Payload(doubling) payload: number, @copy.Message() message: DelayedMessage): unknown {
      this.calls.push({ ...message, payload });
      return this.respond(message);
    }

    @copy.OnDeadLetter(topic, of)
    bury(letter: DeadLetter): void {
      this.letters.push(letter);
    }
  }
  return Worker;
}

/** An application on the module of one copy, with a worker made with the other. */
export async function bootWorker({ here, there }: TwoCopies, respond?: Work['respond']) {
  const Worker = worker(there);
  const { module, logs } = await boot({
    imports: [here.DelayQueueTestingModule.forRoot({}, { now: START })],
    providers: [Worker],
  });
  const work = module.get(Worker);
  if (respond) work.respond = respond;
  return { work, harness: module.get(here.DelayQueueHarness), module, logs };
}

export function throws(error: Error): () => never {
  return () => {
    throw error;
  };
}
