import { type ExecutionContext, Injectable, ParseIntPipe, ValidationPipe, createParamDecorator } from '@nestjs/common';
import { IsString } from 'class-validator';
import { DelayQueueContext, DelayedHandler, type DelayedMessage, Message, Payload } from 'nestjs-delay-queue';
import { beforeEach, describe, expect, it } from 'vitest';
import { useBed } from '../../support/app/bed.js';
import { handleOne } from '../../support/app/handle-one.js';

const bed = useBed();

/** The calls, in order. */
let trail: string[] = [];

beforeEach(() => {
  trail = [];
});

describe('parameters', () => {
  class JobDto {
    @IsString()
    name = '';
  }

  it('are validated and transformed by pipes', async () => {
    @Injectable()
    class Jobs {
      @DelayedHandler('jobs', { backoff: { type: 'fixed', delay: 1 }, attempts: 2 })
      work(@Payload(new ValidationPipe({ transform: true, expectedType: JobDto })) job: JobDto): void {
        trail.push(`${job instanceof JobDto} ${job.name}`);
      }
    }
    const app = await bed.start({ providers: [Jobs] });
    await app.producer.publish('jobs', { name: 'a' }, { id: 'good' });
    await app.events.acked.first();
    await app.producer.publish('jobs', { name: 5 }, { id: 'bad' });
    const { failure } = await app.events.dead.first();

    expect(trail).toEqual(['true a']);
    expect(failure).toMatchObject({ name: 'BadRequestException', reason: 'failed' });
  });

  it('can be properties of payload and message, and those of custom decorators, in any order', async () => {
    const Tenant = createParamDecorator(
      (_data: unknown, context: ExecutionContext) => DelayQueueContext.from(context).message.headers['tenant'],
    );
    @Injectable()
    class Jobs {
      @DelayedHandler('jobs')
      work(
        @Message('attempt') attempt: number,
        @Payload('n', ParseIntPipe) n: number,
        @Tenant() tenant: string,
        @Payload() payload: unknown,
        @Message() message: DelayedMessage,
      ): void {
        trail.push(JSON.stringify([attempt, n, tenant, payload, message.id, message.signal.aborted]));
      }
    }
    const app = await bed.start({ providers: [Jobs] });
    await app.producer.publish('jobs', { n: '7' }, { id: 'one', headers: { tenant: 'acme' } });
    await app.events.acked.first();

    expect(trail).toEqual([JSON.stringify([1, 7, 'acme', { n: '7' }, 'one', false])]);
  });

  it('a property of null is undefined', async () => {
    @Injectable()
    class Jobs {
      @DelayedHandler('jobs')
      work(@Payload('n') n: unknown): void {
        trail.push(String(n));
      }
    }
    await handleOne(await bed.start({ providers: [Jobs] }), null);

    expect(trail).toEqual(['undefined']);
  });
});
