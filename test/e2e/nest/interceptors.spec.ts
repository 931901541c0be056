import { Injectable, type NestInterceptor, UseInterceptors } from '@nestjs/common';
import { DelayedHandler } from 'nestjs-delay-queue';
import { EMPTY, catchError, map, of } from 'rxjs';
import { beforeEach, describe, expect, it } from 'vitest';
import { type RunningApp, useBed } from '../../support/app/bed.js';
import { handleOne } from '../../support/app/handle-one.js';

const bed = useBed();

/** The calls, in order. */
let trail: string[] = [];

beforeEach(() => {
  trail = [];
});

async function withInterceptor(
  intercept: NestInterceptor['intercept'],
  work: () => unknown = () => trail.push('work'),
): Promise<RunningApp> {
  @Injectable()
  class Jobs {
    @DelayedHandler('jobs', { backoff: { type: 'fixed', delay: 1 } })
    @UseInterceptors({ intercept })
    work(): unknown {
      return work();
    }
  }
  return bed.start({ providers: [Jobs] });
}

describe('an interceptor', () => {
  it('may answer instead of the handler: the message is acknowledged', async () => {
    await handleOne(await withInterceptor(() => of(undefined)));

    expect(trail).toEqual([]);
  });

  it('may turn an error into a result', async () => {
    const app = await withInterceptor(
      (_context, next) => next.handle().pipe(catchError(() => of('fine'))),
      () => {
        throw new Error('bad');
      },
    );

    expect(await handleOne(app)).toBe(1);
  });

  it('may turn a result into an error', async () => {
    let calls = 0;
    const app = await withInterceptor((_context, next) =>
      next.handle().pipe(
        map(() => {
          if (++calls === 1) throw new Error('not yet');
        }),
      ),
    );
    await app.producer.publish('jobs', 1);

    expect((await app.events.retried.first()).error).toMatchObject({ message: 'not yet' });
    await app.events.acked.first();
  });

  it.each([
    ['no value', EMPTY],
    ['several values', of(1, 2, 3)],
  ])('does not prevent completion of a handler whose Observable has %s', async (_what, result) => {
    const app = await withInterceptor(
      (_context, next) => next.handle(),
      () => result,
    );

    expect(await handleOne(app)).toBe(1);
  });
});
