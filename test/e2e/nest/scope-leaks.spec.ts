import { type CanActivate, Inject, Injectable, Scope, UseGuards } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { DelayedHandler, type DelayedMessage } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { useBed } from '../../support/app/bed.js';
import { collectGarbage } from '../../support/collect-garbage.js';

const bed = useBed();

describe('instances of scoped classes', () => {
  it('are gone after 10,000 deliveries', async () => {
    let handled = 0;
    const alive = new Set<WeakRef<object>>();
    @Injectable({ scope: Scope.REQUEST })
    class Session {
      readonly ballast = new Uint8Array(1024);

      constructor(@Inject(REQUEST) readonly message: DelayedMessage) {
        alive.add(new WeakRef(this));
      }
    }
    @Injectable()
    class Guard implements CanActivate {
      constructor(readonly session: Session) {}

      canActivate(): boolean {
        return true;
      }
    }
    @Injectable()
    class Jobs {
      constructor(private readonly session: Session) {}

      @DelayedHandler('jobs')
      @UseGuards(Guard)
      work(): void {
        handled += this.session.message.attempt;
      }
    }
    const app = await bed.start({ providers: [Session, Jobs] });
    for (let batch = 0; batch < 20; batch++) {
      const messages = Array.from({ length: 500 }, () => ({ payload: batch }));
      await app.producer.publishMany('jobs', messages);
    }
    await app.events.acked.take(10_000, undefined, 60_000);
    await app.close();

    expect(handled).toBe(10_000);
    expect(alive.size).toBe(10_000);
    await collectGarbage();
    const survivors = [...alive].filter((reference) => reference.deref() !== undefined);
    expect(survivors.length).toBeLessThan(100);
  });
});
