import { Body, type ExecutionContext, Headers, Injectable, Query, type Type } from '@nestjs/common';
import {
  ConfigurationError,
  DelayQueueContext,
  DelayedHandler,
  InvalidArgumentError,
  Payload,
} from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { useBed } from '../../support/app/bed.js';

const bed = useBed();

/** Classes with mistakes, and what the error of the boot has to contain. */
const MISUSES: readonly { readonly misuse: string; readonly make: () => Type; readonly says: readonly string[] }[] = [
  {
    misuse: 'a parameter without decorator beside one that has one',
    make: () => {
      class Jobs {
        @DelayedHandler('jobs')
        work(@Payload() _payload: unknown, _message: unknown): void {}
      }
      return Jobs;
    },
    says: ['Jobs.work', 'parameter 2 has no decorator', '@Message()'],
  },
  {
    misuse: 'a query of a request that does not exist',
    make: () => {
      class Jobs {
        @DelayedHandler('jobs')
        work(@Query('n') _n: unknown): void {}
      }
      return Jobs;
    },
    says: ['Jobs.work', 'parameter 1', 'in a request', '@Payload()'],
  },
  {
    misuse: 'headers of a request that does not exist',
    make: () => {
      class Jobs {
        @DelayedHandler('jobs')
        work(@Payload() _payload: unknown, @Headers() _headers: unknown): void {}
      }
      return Jobs;
    },
    says: ['Jobs.work', 'parameter 2', 'in a request'],
  },
  {
    misuse: 'an empty topic',
    make: () => {
      class Jobs {
        @DelayedHandler('')
        work(): void {}
      }
      return Jobs;
    },
    says: ['Jobs.work', 'A topic must be 1 to 128 characters'],
  },
  {
    misuse: 'no topic',
    make: () => {
      class Jobs {
        @DelayedHandler([])
        work(): void {}
      }
      return Jobs;
    },
    says: ['Jobs.work', 'no topic'],
  },
  {
    misuse: 'a refusal that is none',
    make: () => {
      class Jobs {
        @DelayedHandler('jobs', { onRefusal: 'ignore' as never })
        work(): void {}
      }
      return Jobs;
    },
    says: ['Jobs.work', 'onRefusal', "'dead-letter', 'retry', 'ack'", "Given: 'ignore'"],
  },
  {
    misuse: 'a connection that does not exist',
    make: () => {
      class Jobs {
        @DelayedHandler('jobs', { connection: 'billing' })
        work(): void {}
      }
      return Jobs;
    },
    says: ['Jobs.work', "no connection 'billing'", 'default', "forRoot({ name: 'billing' })"],
  },
];

describe('the boot fails, and names class, method and remedy, for', () => {
  it.each(MISUSES)('$misuse', async ({ make, says }) => {
    const Jobs = make();
    Injectable()(Jobs);

    const error = await bed.failingBoot({ providers: [Jobs] });
    expect(error).toBeInstanceOf(ConfigurationError);
    for (const text of says) expect(error.message).toContain(text);
    await bed.expectNothingOpen();
  });
});

describe('@Body()', () => {
  it('is the payload, so that a method can serve a request and a message', async () => {
    const bodies: unknown[] = [];
    @Injectable()
    class Jobs {
      @DelayedHandler('jobs')
      work(@Body() body: unknown): void {
        bodies.push(body);
      }
    }
    const app = await bed.start({ providers: [Jobs] });
    await app.producer.publish('jobs', { n: 1 });
    await app.events.acked.first();

    expect(bodies).toEqual([{ n: 1 }]);
  });
});

function context(type: string, ...args: unknown[]): ExecutionContext {
  return { getType: () => type, getArgByIndex: (index: number) => args[index] } as unknown as ExecutionContext;
}

describe('DelayQueueContext', () => {
  it('refuses the context of a request', () => {
    expect(() => DelayQueueContext.from(context('http', {}, {}))).toThrow(InvalidArgumentError);
    expect(() => DelayQueueContext.from(context('http', {}, {}))).toThrow("of type 'http'");
  });

  it('has all messages of a batch, and refuses to choose one', () => {
    const messages = [{ id: 'a' }, { id: 'b' }];
    const batch = DelayQueueContext.from(context('delay-queue', [1, 2], messages));

    expect(batch.payload).toEqual([1, 2]);
    expect(batch.messages).toEqual(messages);
    expect(() => batch.message).toThrow('takes batches');
  });
});
