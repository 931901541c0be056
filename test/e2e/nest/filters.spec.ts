import { type ArgumentsHost, Catch, Controller, type ExceptionFilter, Injectable, UseFilters } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import {
  DelayQueueContext,
  DelayedHandler,
  type DelayedMessage,
  RetryLaterError,
  UnrecoverableError,
} from 'nestjs-delay-queue';
import { EMPTY, of, throwError } from 'rxjs';
import { beforeEach, describe, expect, it } from 'vitest';
import { type RunningApp, useBed } from '../../support/app/bed.js';

const bed = useBed();

/** The calls, in order. */
let trail: string[] = [];

beforeEach(() => {
  trail = [];
});

@Injectable()
class Trail {
  add(entry: string): void {
    trail.push(entry);
  }
}

@Catch()
@Injectable()
class TracingFilter implements ExceptionFilter {
  constructor(private readonly notes: Trail) {}

  catch(error: Error, host: ArgumentsHost): string {
    const { message } = DelayQueueContext.from(host);
    this.notes.add(`filter for '${error.message}' of ${message.id}, ${host.getType<string>()}`);
    return 'handled';
  }
}

async function withFilter(
  answer: (error: unknown) => unknown,
  fail: (message: DelayedMessage) => void = () => {
    throw new Error('bad');
  },
): Promise<RunningApp> {
  @Catch()
  class Filter implements ExceptionFilter {
    catch(error: unknown): unknown {
      trail.push(`filter ${(error as Error).message}`);
      return answer(error);
    }
  }
  @Injectable()
  class Jobs {
    @DelayedHandler('jobs', { attempts: 2, backoff: { type: 'fixed', delay: 1 } })
    @UseFilters(Filter)
    work(_payload: unknown, message: DelayedMessage): void {
      fail(message);
    }
  }
  const app = await bed.start({ providers: [Jobs] });
  await app.producer.publish('jobs', 1, { id: 'one' });
  return app;
}

describe('an exception filter', () => {
  it.each([
    ['a value', () => 'handled'],
    ['a promise of a value', async () => 'handled'],
    ['an Observable of a value', () => of('handled')],
  ])('that returns %s has handled it: the message is acknowledged', async (_what, answer) => {
    const app = await withFilter(answer);
    await app.events.acked.first();

    expect(trail).toEqual(['filter bad']);
  });

  it.each([
    ['nothing', () => undefined],
    ['a promise of nothing', async () => undefined],
    ['an Observable of nothing', () => EMPTY],
    // Nest 11 does not distinguish these from nothing.
    ['null', () => null],
    ['false', () => false],
    ['a promise of null', async () => null],
    ['an Observable of false', () => of(false)],
  ])('that returns %s lets the exception decide the outcome', async (_what, answer) => {
    const app = await withFilter(answer);
    const { failure } = await app.events.dead.first();

    expect(failure).toMatchObject({ message: 'bad', reason: 'failed' });
    expect(trail).toEqual(['filter bad', 'filter bad']);
  });

  it.each([
    [
      'throws',
      () => {
        throw new UnrecoverableError('never');
      },
    ],
    ['rejects with', async () => Promise.reject(new UnrecoverableError('never'))],
    ['fails an Observable with', () => throwError(() => new UnrecoverableError('never'))],
  ])('that %s another error decides with that error', async (_what, answer) => {
    const app = await withFilter(answer);
    const { failure, attempt } = await app.events.dead.first();

    expect([failure.reason, failure.message, attempt]).toEqual(['unrecoverable', 'never', 1]);
  });

  it('can put the message off', async () => {
    const app = await withFilter(() => {
      throw new RetryLaterError(60_000);
    });

    expect(await app.events.retried.first()).toMatchObject({ delay: 60_000 });
  });

  it('does not see a RetryLaterError, which is not a failure', async () => {
    const app = await withFilter(
      () => 'handled',
      () => {
        throw new RetryLaterError(60_000);
      },
    );

    expect(await app.events.retried.first()).toMatchObject({ delay: 60_000 });
    expect(trail).toEqual([]);
  });

  it('is chosen by the class of the exception', async () => {
    class Special extends Error {}
    @Catch(Special)
    class SpecialFilter implements ExceptionFilter {
      catch(): string {
        return 'handled';
      }
    }
    @Injectable()
    @UseFilters(SpecialFilter)
    class Jobs {
      @DelayedHandler('jobs', { attempts: 1 })
      work(payload: string): void {
        throw payload === 'special' ? new Special('x') : new Error('ordinary');
      }
    }
    const app = await bed.start({ providers: [Jobs] });
    await app.producer.publish('jobs', 'special', { id: 'special' });
    await app.producer.publish('jobs', 'other', { id: 'other' });

    expect((await app.events.acked.first()).id).toBe('special');
    expect((await app.events.dead.first()).id).toBe('other');
  });

  it.each(['provider', 'controller'])('may be a class with dependencies, global or on a %s', async (kind) => {
    class Jobs {
      @DelayedHandler('jobs')
      work(): void {
        throw new Error('bad');
      }

      @DelayedHandler('tasks')
      @UseFilters(TracingFilter)
      task(): void {
        throw new Error('worse');
      }
    }
    (kind === 'provider' ? Injectable() : Controller())(Jobs);
    const app = await bed.start({
      providers: [Trail, { provide: APP_FILTER, useClass: TracingFilter }, ...(kind === 'provider' ? [Jobs] : [])],
      controllers: kind === 'controller' ? [Jobs] : [],
    });
    await app.producer.publish('jobs', 1, { id: 'one' });
    await app.producer.publish('tasks', 1, { id: 'two' });
    await app.events.acked.take(2);

    expect(trail.toSorted()).toEqual([
      `filter for 'bad' of one, delay-queue`,
      `filter for 'worse' of two, delay-queue`,
    ]);
  });
});
