import {
  type CanActivate,
  type ExecutionContext,
  Inject,
  Injectable,
  ParseArrayPipe,
  Scope,
  UseGuards,
} from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { DelayQueueContext, DelayedHandler, type DelayedMessage, Message, Payload } from 'nestjs-delay-queue';
import { beforeEach, describe, expect, it } from 'vitest';
import { type AppSetup, useBed } from '../../support/app/bed.js';

const bed = useBed();

let notes: unknown[] = [];

beforeEach(() => {
  notes = [];
});

/** Publishes three messages to one partition before the application boots, so that they are one batch. */
async function handleThree(providers: AppSetup['providers'] & {}): Promise<void> {
  const options = { topics: { jobs: { partitions: 1 } } };
  const publisher = await bed.start({ options: { ...options, consumer: false } });
  await publisher.producer.publishMany(
    'jobs',
    ['1', '2', '3'].map((n) => ({ payload: { n }, options: { id: `m${n}` } })),
  );
  const app = await bed.start({ options, providers });
  await app.events.acked.take(3);
}

describe('a handler of batches', () => {
  it('has parameters of all payloads and all messages, or of a property of each', async () => {
    @Injectable()
    class Jobs {
      @DelayedHandler('jobs', { batch: 10 })
      work(
        @Message('id') ids: string[],
        @Payload() payloads: { n: string }[],
        @Payload('n', new ParseArrayPipe({ items: Number })) numbers: number[],
        @Message() messages: DelayedMessage[],
      ): void {
        notes.push(ids, payloads, numbers, messages.length);
      }
    }
    await handleThree([Jobs]);

    expect(notes).toEqual([['m1', 'm2', 'm3'], [{ n: '1' }, { n: '2' }, { n: '3' }], [1, 2, 3], 3]);
  });

  it('has one context for all its messages', async () => {
    @Injectable()
    class Looking implements CanActivate {
      canActivate(context: ExecutionContext): boolean {
        const { payload, messages } = DelayQueueContext.from(context);
        notes.push(
          payload,
          messages.map(({ id }) => id),
        );
        return true;
      }
    }
    @Injectable()
    class Jobs {
      @DelayedHandler('jobs', { batch: 10 })
      @UseGuards(Looking)
      work(): void {}
    }
    await handleThree([Jobs]);

    expect(notes).toEqual([
      [{ n: '1' }, { n: '2' }, { n: '3' }],
      ['m1', 'm2', 'm3'],
    ]);
  });

  it('has an instance per batch if it is request-scoped, with the messages as its request', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Jobs {
      constructor(@Inject(REQUEST) private readonly request: DelayedMessage[]) {
        notes.push('made');
      }

      @DelayedHandler('jobs', { batch: 10 })
      work(_payloads: unknown[], messages: DelayedMessage[]): void {
        notes.push(this.request === messages, messages.length);
      }
    }
    await handleThree([Jobs]);

    expect(notes).toEqual(['made', true, 3]);
  });

  it('keeps the outcome of each message, whatever is around it', async () => {
    @Injectable()
    @UseGuards({ canActivate: () => true })
    class Jobs {
      @DelayedHandler('jobs', { batch: 10, backoff: { type: 'fixed', delay: 1 } })
      async work(_payloads: unknown[], messages: DelayedMessage[]): Promise<PromiseSettledResult<void>[]> {
        notes.push(messages.map(({ id, attempt }) => `${id} ${attempt}`));
        return Promise.allSettled(
          messages.map(async ({ id, attempt }) => {
            if (id === 'm2' && attempt === 1) throw new Error('not yet');
          }),
        );
      }
    }
    await handleThree([Jobs]);

    expect(notes).toEqual([['m1 1', 'm2 1', 'm3 1'], ['m2 2']]);
  });
});
