import { type CallHandler, Inject, Injectable, type NestInterceptor, Scope, UseInterceptors } from '@nestjs/common';
import { DelayedHandler, type DelayedMessage, OnDeadLetter } from 'nestjs-delay-queue';
import { EMPTY, type Observable, Subject, defer, merge } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { start as boot, useKitBed } from '../../support/kit/kit-bed.js';

class Passing implements NestInterceptor {
  intercept(_: unknown, next: CallHandler): Observable<unknown> {
    return next.handle();
  }
}

abstract class Results {
  readonly ran: string[] = [];

  protected later(name: string): Observable<void> {
    return defer(async () => void this.ran.push(name));
  }

  protected failing(): Observable<never> {
    return defer(async () => Promise.reject(new Error('in the observable')));
  }

  protected async *steps(name: string): AsyncGenerator<string> {
    yield 'half';
    this.ran.push(name);
  }
}

@Injectable()
class Plain extends Results {
  @DelayedHandler('observable', { attempts: 1 })
  async observable() {
    return this.later('observable');
  }

  @DelayedHandler('failing', { attempts: 1 })
  async fails() {
    return this.failing();
  }

  @DelayedHandler('empty', { attempts: 1 })
  async empty() {
    return EMPTY;
  }

  @DelayedHandler('generator', { attempts: 1 })
  async *generator() {
    yield* this.steps('generator');
  }

  @OnDeadLetter('failing')
  async hook() {
    return this.later('hook');
  }
}

@Injectable()
@UseInterceptors(Passing)
class Intercepted extends Plain {}

useKitBed();

describe.each([Plain, Intercepted])('what a handler returns: %o', (Handlers) => {
  it('is awaited first and run to its end then', async () => {
    const { app, harness, producer } = await boot({ providers: [Handlers] });
    for (const topic of ['observable', 'failing', 'empty', 'generator']) await producer.publish(topic, null);
    await harness.settle();

    expect(app.get<Results>(Handlers).ran.toSorted()).toEqual(['generator', 'hook', 'observable']);
    expect(harness.deadLetters('failing').map(({ failure }) => failure.message)).toEqual(['in the observable']);
    expect([...harness.deadLetters('empty'), ...harness.scheduled('empty')]).toEqual([]);
  });
});

@Injectable()
class Impatient implements NestInterceptor {
  /** Of the latest call. */
  gaveUp = new Subject<never>();

  intercept(_: unknown, next: CallHandler): Observable<unknown> {
    this.gaveUp = new Subject();
    return merge(next.handle(), this.gaveUp);
  }
}

@Injectable()
class Calls {
  readonly messages: DelayedMessage[] = [];
  end: () => void = () => {};

  async add(message: DelayedMessage): Promise<void> {
    this.messages.push(message);
    if (message.attempt === 1) await new Promise<void>((resolve) => (this.end = resolve));
  }
}

@Injectable()
class Slow {
  constructor(@Inject(Calls) private readonly calls: Calls) {}

  @UseInterceptors(Impatient)
  @DelayedHandler('slow', { backoff: { type: 'fixed', delay: '1s' } })
  handle(_: unknown, message: DelayedMessage): Promise<void> {
    return this.calls.add(message);
  }

  @UseInterceptors(Impatient)
  @DelayedHandler('timed', { timeout: '1s', attempts: 20, backoff: { type: 'fixed', delay: '1s' } })
  handleInTime(_: unknown, message: DelayedMessage): Promise<void> {
    return this.calls.add(message);
  }
}

@Injectable({ scope: Scope.REQUEST })
class Scoped extends Slow {}

describe('an interceptor that gives up', () => {
  it.each([
    { topic: 'slow', after: 0, code: 'GIVEN_UP', Handlers: Slow },
    { topic: 'slow', after: 0, code: 'GIVEN_UP', Handlers: Scoped },
    { topic: 'timed', after: '2s', code: 'HANDLER_TIMEOUT', Handlers: Slow },
  ] as const)(
    'fails the attempt and aborts its signal, and the next one waits until the method has ended: $topic, $Handlers.name',
    async ({ topic, after, code, Handlers }) => {
      const { app, harness, producer } = await boot({ providers: [Handlers, Impatient, Calls] });
      const calls = app.get(Calls);
      await producer.publish(topic, null);
      await harness.advance(after);
      app.get(Impatient).gaveUp.error(new Error('timeout has occurred'));
      await harness.advance('5s');

      expect(calls.messages).toHaveLength(1);
      expect(calls.messages[0]?.signal.reason).toMatchObject({ code });

      calls.end();
      await harness.advance('5s');
      expect(calls.messages).toHaveLength(2);
    },
  );
});
