import { type CanActivate, Injectable, type Type, UseGuards } from '@nestjs/common';
import { DelayedHandler, UnrecoverableError } from 'nestjs-delay-queue';
import { beforeEach, describe, expect, it } from 'vitest';
import { useBed } from '../e2e/support/bed.js';
import { handleOne } from './support/handle-one.js';

const bed = useBed();

/** What ran, in order. */
let trail: string[] = [];

beforeEach(() => {
  trail = [];
});

function setup(onRefusal?: 'dead-letter' | 'retry' | 'ack'): { Jobs: Type; allow: () => void } {
  let allowed = false;
  @Injectable()
  class Refusing implements CanActivate {
    canActivate(): boolean {
      return allowed;
    }
  }
  @Injectable()
  class Jobs {
    @DelayedHandler('jobs', { backoff: { type: 'fixed', delay: 1 }, ...(onRefusal && { onRefusal }) })
    @UseGuards(Refusing)
    work(): void {
      trail.push('work');
    }
  }
  return { Jobs, allow: () => (allowed = true) };
}

describe('a guard that refuses', () => {
  it('makes a dead letter of the message, at once', async () => {
    const app = await bed.start({ providers: [setup().Jobs] });
    await app.producer.publish('jobs', 1, { id: 'one' });

    const { failure, attempt } = await app.events.dead.first();
    expect(failure).toMatchObject({ reason: 'unrecoverable', name: 'UnrecoverableError' });
    expect(failure.message).toContain('guard refused');
    expect(attempt).toBe(1);
    expect(trail).toEqual([]);
  });

  it("has it retried where onRefusal is 'retry'", async () => {
    const { Jobs, allow } = setup('retry');
    const app = await bed.start({ providers: [Jobs] });
    await app.producer.publish('jobs', 1, { id: 'one' });
    const { error } = await app.events.retried.first();
    expect(error).toMatchObject({ name: 'ForbiddenException' });

    allow();
    await app.events.acked.first();
    expect(trail).toEqual(['work']);
  });

  it("has it dropped where onRefusal is 'ack'", async () => {
    const app = await bed.start({ providers: [setup('ack').Jobs] });
    await handleOne(app);

    expect(trail).toEqual([]);
  });

  it('by an error of its own decides like a handler', async () => {
    @Injectable()
    class Throwing implements CanActivate {
      canActivate(): boolean {
        throw new UnrecoverableError('no such tenant');
      }
    }
    @Injectable()
    class Jobs {
      @DelayedHandler('jobs')
      @UseGuards(Throwing)
      work(): void {}
    }
    const app = await bed.start({ providers: [Jobs] });
    await app.producer.publish('jobs', 1);

    expect((await app.events.dead.first()).failure.message).toBe('no such tenant');
  });
});
