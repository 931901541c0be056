import { type CallHandler, Injectable, type NestInterceptor, UseInterceptors } from '@nestjs/common';
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
class Slow {
  readonly messages: DelayedMessage[] = [];
  end: () => void = () => {};

  @UseInterceptors(Impatient)
  @DelayedHandler('slow', { backoff: { type: 'fixed', delay: '1s' } })
  async handle(_: unknown, message: DelayedMessage): Promise<void> {
    this.messages.push(message);
    if (message.attempt === 1) await new Promise<void>((resolve) => (this.end = resolve));
  }
}

describe('an interceptor that gives up', () => {
  it('fails the attempt and aborts its signal, and the next one waits until the method has ended', async () => {
    const { app, harness, producer } = await boot({ providers: [Slow, Impatient] });
    const { messages, ...slow } = { messages: app.get(Slow).messages, end: () => app.get(Slow).end() };
    await producer.publish('slow', null);
    await harness.advance(0);
    app.get(Impatient).gaveUp.error(new Error('timeout has occurred'));
    await harness.advance('10s');

    expect(messages.map(({ attempt }) => attempt)).toEqual([1]);
    expect(messages[0]?.signal.reason).toMatchObject({ code: 'GIVEN_UP' });

    slow.end();
    await harness.advance('1m');
    expect(messages.map(({ attempt }) => attempt)).toEqual([1, 2]);
  });
});
