import { type CanActivate, Injectable, Scope, type Type, UseGuards } from '@nestjs/common';
import { DelayedHandler, UnrecoverableError } from 'nestjs-delay-queue';
import { type Observable, of } from 'rxjs';
import { beforeEach, describe, expect, it } from 'vitest';
import { useBed } from '../../support/app/bed.js';
import { handleOne } from '../../support/app/handle-one.js';

const bed = useBed();

/** The calls, in order. */
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
  it('makes the message a dead letter at once', async () => {
    const app = await bed.start({ providers: [setup().Jobs] });
    await app.producer.publish('jobs', 1, { id: 'one' });

    const { failure, attempt } = await app.events.dead.first();
    expect(failure).toMatchObject({ reason: 'unrecoverable', name: 'UnrecoverableError' });
    expect(failure.message).toBe(
      'The guard Refusing refused the message. If it is meant for requests only, let it answer true if context.getType() is ' +
        "'delay-queue'.",
    );
    expect(attempt).toBe(1);
    expect(trail).toEqual([]);
  });

  it("causes a retry if onRefusal is 'retry'", async () => {
    const { Jobs, allow } = setup('retry');
    const app = await bed.start({ providers: [Jobs] });
    await app.producer.publish('jobs', 1, { id: 'one' });
    const { error } = await app.events.retried.first();
    expect(error).toMatchObject({ name: 'ForbiddenException' });
    expect((error as Error).message).toContain('The guard Refusing refused the message.');

    allow();
    await app.events.acked.first();
    expect(trail).toEqual(['work']);
  });

  it("drops the message if onRefusal is 'ack'", async () => {
    const app = await bed.start({ providers: [setup('ack').Jobs] });
    await handleOne(app);

    expect(trail).toEqual([]);
  });

  it('is named among several, whether it answers at once, later or with an Observable', async () => {
    class Open implements CanActivate {
      canActivate(): boolean {
        trail.push('open');
        return true;
      }
    }
    class Later implements CanActivate {
      canActivate(): Promise<boolean> {
        return Promise.resolve(false);
      }
    }
    class Streaming implements CanActivate {
      canActivate(): Observable<boolean> {
        return of(false);
      }
    }
    @Injectable({ scope: Scope.REQUEST })
    class Scoped extends Later {}
    const refusedBy: Record<string, string> = {};
    for (const [name, ...guards] of [
      ['later', Open, Later, Streaming],
      ['streaming', Open, Streaming],
      ['scoped', Open, Scoped],
      ['unnamed', Open, { canActivate: () => false }],
    ] as const) {
      @Injectable()
      class Jobs {
        @DelayedHandler(name)
        @UseGuards(...guards)
        work(): void {
          trail.push('work');
        }
      }
      const app = await bed.start({ providers: [Jobs] });
      await app.producer.publish(name, 1);
      refusedBy[name] = (await app.events.dead.first()).failure.message.split('.')[0] ?? '';
    }

    expect(refusedBy).toEqual({
      later: 'The guard Later refused the message',
      streaming: 'The guard Streaming refused the message',
      scoped: 'The guard Scoped refused the message',
      unnamed: 'A guard refused the message',
    });
    expect(trail).toEqual(['open', 'open', 'open', 'open']);
  });

  it('with its own error decides like a handler', async () => {
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
