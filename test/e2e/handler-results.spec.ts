import { type CallHandler, Inject, Injectable, type NestInterceptor, Scope, UseInterceptors } from '@nestjs/common';
import { DelayedHandler, type DelayedMessage, OnDeadLetter } from 'nestjs-delay-queue';
import type { HarnessOptions } from 'nestjs-delay-queue/testing';
import { EMPTY, type Observable, Subject, defer, map, merge, of, throwError, timer } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { start as boot, useKitBed } from '../support/kit/kit-bed.js';
import { eventually } from '../support/waiting.js';

class Passing implements NestInterceptor {
  intercept(_: unknown, next: CallHandler): Observable<unknown> {
    return next.handle();
  }
}

@Injectable()
class Plain {
  /** What has run to its end. */
  readonly ran: string[] = [];
  respond: () => unknown = () => undefined;

  @DelayedHandler('results', { attempts: 2, backoff: { type: 'fixed', delay: '1s' } })
  handle(): unknown {
    return this.respond();
  }

  @OnDeadLetter('results')
  async hook(): Promise<Observable<unknown>> {
    return this.later('hook');
  }

  later(name = 'late'): Observable<unknown> {
    return timer(20).pipe(map(() => this.ran.push(name)));
  }

  async *steps(): AsyncGenerator<string> {
    yield 'half';
    this.ran.push('late');
  }
}

@Injectable()
@UseInterceptors(Passing)
class Intercepted extends Plain {}

useKitBed();

describe.each([Plain, Intercepted])('a handler: %o', (Handler) => {
  async function start(respond: (handler: Plain) => unknown, options: HarnessOptions = {}) {
    const bed = await boot({ providers: [Handler], ...options });
    const [acked, retried] = [bed.tape('acked'), bed.tape('retried')];
    const handler = bed.app.get<Plain>(Handler);
    handler.respond = () => respond(handler);
    await bed.producer.publish('results', null, { id: 'a' });
    return { ...bed, acked, retried, handler, stored: async () => bed.admin.get('results', 'a') };
  }

  it.each<[what: string, respond: (handler: Plain) => unknown, isLate?: true]>([
    ['nothing', () => undefined],
    ['a value', () => 42],
    ['false', () => false],
    ['a promise that resolves', async () => 'done'],
    ['an Observable that completes after some values', () => of(1, 2, 3)],
    ['an Observable that completes without a value', () => EMPTY],
    ['an Observable that completes later', (handler) => handler.later(), true],
    ['a promise of an Observable', async (handler) => handler.later(), true],
    ['a promise of an Observable without a value', async () => EMPTY],
    ['a generator', (handler) => handler.steps(), true],
  ])('acknowledges by returning %s, which is run to its end', async (_, respond, isLate) => {
    const { harness, acked, retried, handler, stored } = await start(respond);
    await harness.settle();

    expect(acked).toMatchObject([{ topic: 'results', id: 'a', attempt: 1 }]);
    expect(handler.ran).toEqual(isLate ? ['late'] : []);
    expect(retried).toEqual([]);
    expect(await stored()).toBeUndefined();
  });

  it('does not acknowledge before its Observable has completed', async () => {
    const subject = new Subject<number>();
    const { harness, stored } = await start(() => subject, { patience: 20 });
    await eventually(() => expect(subject.observed).toBe(true));
    subject.next(1);
    await harness.settle();
    expect(await stored()).toMatchObject({ state: 'in-flight' });
    subject.complete();
    await eventually(async () => expect(await stored()).toBeUndefined());
  });

  const error = new Error('no use');

  it.each<[how: string, respond: () => unknown]>([
    [
      'throwing',
      () => {
        throw error;
      },
    ],
    ['a promise that rejects', async () => Promise.reject(error)],
    ['an Observable that fails at once', () => throwError(() => error)],
    [
      'an Observable that fails after a value',
      () =>
        merge(
          of(1),
          defer(async () => Promise.reject(error)),
        ),
    ],
    ['a promise of an Observable that fails', async () => defer(async () => Promise.reject(error))],
  ])('fails its attempt by %s, and its hook is run to its end', async (_, respond) => {
    const { harness, acked, retried, handler } = await start(respond);
    await harness.advance('1m');

    expect(retried).toMatchObject([{ topic: 'results', id: 'a', attempt: 1, error }]);
    expect(harness.deadLetters('results')).toMatchObject([{ attempts: 2, failure: { message: 'no use' } }]);
    expect(acked).toEqual([]);
    await eventually(() => expect(handler.ran).toEqual(['hook']));
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
