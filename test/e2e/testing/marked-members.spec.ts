import { Injectable, UseGuards } from '@nestjs/common';
import {
  DelayedHandler,
  type DelayedMessage,
  DelayQueueSchedules,
  OnDeadLetter,
  RecurringHandler,
} from 'nestjs-delay-queue';
import { describe, expect, it, vi } from 'vitest';
import { start as boot, useKitBed } from '../../support/kit/kit-bed.js';

/** As decorators for transactions, spans and caches do. */
function Wrapped(): MethodDecorator {
  return (_target, _name, descriptor) => {
    const method = descriptor.value as (this: unknown, ...args: unknown[]) => unknown;
    descriptor.value = async function (this: unknown, ...args: unknown[]) {
      return method.apply(this, args);
    } as never;
  };
}

abstract class Noting {
  readonly handled: string[] = [];

  note(_: unknown, { topic }: DelayedMessage): void {
    this.handled.push(topic);
  }
}

const NAMELESS = Symbol('nameless');

const FIRST = DelayedHandler('first');
const SECOND = DelayedHandler('second');
const EACH_MINUTE = RecurringHandler('second', { every: '1m' });

/** A class whose method has decorators; the last one is called first, as in code. */
function decorated(...decorators: MethodDecorator[]): new () => Noting {
  class Handlers extends Noting {
    on(payload: unknown, message: DelayedMessage): void {
      this.note(payload, message);
    }
  }
  Reflect.decorate(decorators, Handlers.prototype, 'on', Object.getOwnPropertyDescriptor(Handlers.prototype, 'on'));
  Injectable()(Handlers);
  return Handlers;
}

useKitBed();

describe('several decorators on one method', () => {
  it.each([
    [FIRST, SECOND],
    [FIRST, EACH_MINUTE],
    [EACH_MINUTE, FIRST],
  ])('all hold', async (...decorators) => {
    const Handlers = decorated(...decorators);
    const { app, harness, producer } = await boot({ providers: [Handlers] });
    for (const topic of ['first', 'second']) await producer.publish(topic, null);
    await harness.advance('1m');

    expect(new Set(app.get(Handlers).handled)).toEqual(new Set(['first', 'second']));
  });

  it('may declare two schedules of one topic', async () => {
    const Handlers = decorated(
      RecurringHandler('tick', { id: 'a', every: '20s' }),
      RecurringHandler('tick', { id: 'b', every: '30s' }),
    );
    const { app, harness } = await boot({ providers: [Handlers] });
    await harness.advance('1m');

    expect((await app.get(DelayQueueSchedules).list()).map(({ id }) => id)).toEqual(['a', 'b']);
    expect(app.get(Handlers).handled).toHaveLength(5);
  });
});

describe('a method that was replaced since it was decorated', () => {
  it('is handled if a decorator above has wrapped it, with the guards below it', async () => {
    const guard = { canActivate: vi.fn<() => boolean>(() => true) };
    class Handlers extends Noting {
      @Wrapped()
      @DelayedHandler('jobs.wrapped')
      @UseGuards(guard)
      on(payload: unknown, message: DelayedMessage): void {
        this.note(payload, message);
      }
    }
    const { app, harness, producer } = await boot({ providers: [Handlers] });
    await producer.publish('jobs.wrapped', null);
    await harness.settle();

    expect(app.get(Handlers).handled).toEqual(['jobs.wrapped']);
    expect(guard.canActivate).toHaveBeenCalledOnce();
  });

  it('is handled if a test spies on it before the boot, and if a subclass overrides it', async () => {
    const Spied = decorated(FIRST);
    vi.spyOn(Spied.prototype as { on: () => void }, 'on');
    const Base = decorated(SECOND);
    class Derived extends Base {
      on(_: unknown, { topic }: DelayedMessage): void {
        this.handled.push(`own ${topic}`);
      }
    }
    const { app, harness, producer } = await boot({ providers: [Spied, Derived] });
    for (const topic of ['first', 'second']) await producer.publish(topic, null);
    await harness.settle();

    expect([...app.get(Spied).handled, ...app.get(Derived).handled]).toEqual(['first', 'own second']);
  });
});

describe('a member that cannot be called', () => {
  const KINDS: [string, (decorate: MethodDecorator, type: { prototype: object } & object) => void, string][] = [
    [
      'a static method',
      (decorate, type) => decorate(type, 'fixed', Object.getOwnPropertyDescriptor(type, 'fixed') ?? {}),
      'it is static',
    ],
    [
      'an accessor',
      (decorate, { prototype }) =>
        decorate(prototype, 'value', Object.getOwnPropertyDescriptor(prototype, 'value') ?? {}),
      'it is a property or an accessor',
    ],
    ['a property', (decorate, { prototype }) => decorate(prototype, 'arrow', undefined as never), 'it is a property'],
    [
      'a method without a name',
      (decorate, { prototype }) =>
        decorate(prototype, NAMELESS, Object.getOwnPropertyDescriptor(prototype, NAMELESS) ?? {}),
      'its name is a symbol',
    ],
  ];

  it.each(KINDS)('fails the boot: %s', async (_, apply, reason) => {
    for (const [name, decorate] of [
      ['DelayedHandler', FIRST],
      ['RecurringHandler', EACH_MINUTE],
      ['OnDeadLetter', OnDeadLetter('first')],
    ] as const) {
      class Handlers {
        static fixed(): void {}
        get value(): undefined {
          return undefined;
        }
        [NAMELESS](): void {}
      }
      apply(decorate, Handlers);
      await expect(boot({ providers: [Handlers] })).rejects.toThrow(new RegExp(`@${name} on Handlers\\..*: ${reason}`));
    }
  });

  it('is refused at once as a decorator of ECMAScript', () => {
    const context = { kind: 'method', name: 'on', static: false };
    expect(() => (FIRST as (value: unknown, context: unknown) => void)(() => {}, context)).toThrow(
      '@DelayedHandler was called as a decorator of ECMAScript',
    );
  });
});
