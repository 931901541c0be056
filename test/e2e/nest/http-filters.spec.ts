import { type ArgumentsHost, Catch, Injectable } from '@nestjs/common';
import { APP_FILTER, BaseExceptionFilter } from '@nestjs/core';
import { DelayedHandler, UnrecoverableError } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { useBed } from '../../support/app/bed.js';
import { HTTP_PLATFORMS, PLATFORMS, bootOn } from '../../support/app/platforms.js';

const bed = useBed();

@Injectable()
class Jobs {
  @DelayedHandler('jobs', { attempts: 2, backoff: { type: 'fixed', delay: 1 } })
  work(): void {
    throw new UnrecoverableError('never');
  }
}

/** Answers everything, as if it were a request. */
@Catch()
class CatchAll extends BaseExceptionFilter {}

/** As the README advises. */
@Catch()
class CatchRequests extends BaseExceptionFilter {
  override catch(exception: unknown, host: ArgumentsHost): void {
    if (host.getType<string>() === 'delay-queue') return;
    // oxlint-disable-next-line promise/valid-params -- a filter, no promise
    super.catch(exception, host);
  }
}

describe('a global filter that extends BaseExceptionFilter', () => {
  it.each([...HTTP_PLATFORMS, 'an application context'] as const)(
    'treats a message like a response on %s, and its own failure decides',
    async (platform) => {
      const app = await bootOn(platform, bed, { providers: [Jobs, { provide: APP_FILTER, useClass: CatchAll }] });
      await app.producer.publish('jobs', 1);
      const { failure, attempt } = await app.events.dead.first();

      expect(failure).toMatchObject({ reason: 'failed', name: 'TypeError' });
      expect(attempt).toBe(2);
    },
  );

  it.each(PLATFORMS)('does not affect messages if it checks the type first, on %s', async (platform) => {
    const app = await bootOn(platform, bed, { providers: [Jobs, { provide: APP_FILTER, useClass: CatchRequests }] });
    await app.producer.publish('jobs', 1);
    const { failure, attempt } = await app.events.dead.first();

    expect([failure.reason, failure.message, attempt]).toEqual(['unrecoverable', 'never', 1]);
  });
});
