import { type CanActivate, Controller, Inject, Injectable, Scope, type Type, UseGuards } from '@nestjs/common';
import {
  APP_GUARD,
  ContextIdFactory,
  type ContextId,
  type ContextIdStrategy,
  type HostComponentInfo,
  INQUIRER,
  REQUEST,
} from '@nestjs/core';
import { DelayedHandler, type DelayedMessage, Payload } from 'nestjs-delay-queue';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useBed } from '../../support/app/bed.js';

const bed = useBed();

let notes: string[] = [];
let made = 0;

beforeEach(() => {
  notes = [];
  made = 0;
});

/** Publishes messages one after another, and waits until each is handled. */
async function handle(count: number, providers: unknown[], controllers: Type[] = []): Promise<void> {
  const app = await bed.start({ providers: providers as Type[], controllers });
  for (let n = 1; n <= count; n++) {
    await app.producer.publish('jobs', n, { id: `m${n}`, headers: { tenant: n % 2 ? 'odd' : 'even' } });
    await app.events.acked.first(({ id }) => id === `m${n}`);
  }
}

describe('a request-scoped class', () => {
  @Injectable({ scope: Scope.REQUEST })
  class Jobs {
    private readonly number = ++made;

    constructor(@Inject(REQUEST) private readonly request: DelayedMessage) {}

    @DelayedHandler('jobs')
    work(payload: number, message: DelayedMessage): void {
      notes.push(`${this.number} ${payload} ${this.request === message}`);
    }
  }

  it('has an instance per delivery, with the message as its request', async () => {
    await handle(3, [Jobs]);

    expect(notes).toEqual(['1 1 true', '2 2 true', '3 3 true']);
  });

  it('has a new instance for a retry', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Failing {
      private readonly number = ++made;

      @DelayedHandler('jobs', { backoff: { type: 'fixed', delay: 1 } })
      work(_payload: number, message: DelayedMessage): void {
        notes.push(`${this.number} ${message.attempt}`);
        if (message.attempt === 1) throw new Error('not yet');
      }
    }
    await handle(1, [Failing]);

    expect(notes).toEqual(['1 1', '2 2']);
  });

  it('may be request-scoped through a dependency', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Session {
      readonly number = ++made;

      constructor(@Inject(REQUEST) readonly message: DelayedMessage) {}
    }
    @Injectable()
    class Repository {
      constructor(readonly session: Session) {}
    }
    @Injectable()
    class Dependent {
      constructor(
        private readonly session: Session,
        private readonly repository: Repository,
      ) {}

      @DelayedHandler('jobs')
      work(): void {
        notes.push(`${this.session.number} ${this.session.message.id} ${this.session === this.repository.session}`);
      }
    }
    await handle(2, [Session, Repository, Dependent]);

    expect(notes).toEqual(['1 m1 true', '2 m2 true']);
  });

  it('may be a controller', async () => {
    @Controller({ scope: Scope.REQUEST })
    class JobsController {
      constructor(@Inject(REQUEST) private readonly message: DelayedMessage) {}

      @DelayedHandler('jobs')
      work(@Payload() payload: number): void {
        notes.push(`${payload} ${this.message.id}`);
      }
    }
    await handle(2, [], [JobsController]);

    expect(notes).toEqual(['1 m1', '2 m2']);
  });

  it('whose dependencies cannot be made causes retries', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Broken {
      constructor() {
        if (++made === 1) throw new Error('no connection');
      }

      @DelayedHandler('jobs', { backoff: { type: 'fixed', delay: 1 } })
      work(_payload: number, message: DelayedMessage): void {
        notes.push(`attempt ${message.attempt}`);
      }
    }
    await handle(1, [Broken]);

    expect(notes).toEqual(['attempt 2']);
  });
});

describe('a transient class', () => {
  it('has an instance per delivery', async () => {
    @Injectable({ scope: Scope.TRANSIENT })
    class Jobs {
      private readonly number = ++made;

      @DelayedHandler('jobs')
      work(payload: number): void {
        notes.push(`${this.number} ${payload}`);
      }
    }
    await handle(2, [Jobs]);

    const [first, second] = notes.map((note) => note.split(' ')[0]);
    expect(notes.map((note) => note.split(' ')[1])).toEqual(['1', '2']);
    expect(first).not.toBe(second);
  });

  it('may be a dependency of a singleton', async () => {
    @Injectable({ scope: Scope.TRANSIENT })
    class Logger {
      constructor(@Inject(INQUIRER) readonly owner: object) {}
    }
    @Injectable()
    class Jobs {
      constructor(private readonly logger: Logger) {
        made++;
      }

      @DelayedHandler('jobs')
      work(): void {
        notes.push(`${this.logger.owner.constructor.name} ${made}`);
      }
    }
    await handle(2, [Logger, Jobs]);

    expect(notes).toEqual(['Jobs 1', 'Jobs 1']);
  });
});

describe('a scoped guard', () => {
  function scopedGuard(scope: Scope): Type<CanActivate> {
    @Injectable({ scope })
    class Guard implements CanActivate {
      private readonly number = ++made;

      constructor(private readonly trail: Trail) {}

      canActivate(): boolean {
        this.trail.add(`guard ${this.number}`);
        return true;
      }
    }
    return Guard;
  }

  @Injectable()
  class Trail {
    add(note: string): void {
      notes.push(note);
    }
  }

  it.each(['provider', 'controller'])('bound to a singleton %s is made for each delivery', async (kind) => {
    class Jobs {
      @DelayedHandler('jobs')
      @UseGuards(scopedGuard(Scope.REQUEST))
      work(payload: number): void {
        notes.push(`work ${payload}`);
      }
    }
    (kind === 'provider' ? Injectable() : Controller())(Jobs);
    await (kind === 'provider' ? handle(2, [Trail, Jobs]) : handle(2, [Trail], [Jobs]));

    expect(notes).toEqual(['guard 1', 'work 1', 'guard 2', 'work 2']);
  });

  it.each(['provider', 'controller'])('that is global is made for each delivery to a %s', async (kind) => {
    class Jobs {
      @DelayedHandler('jobs')
      work(payload: number): void {
        notes.push(`work ${payload}`);
      }
    }
    (kind === 'provider' ? Injectable() : Controller())(Jobs);
    const global = { provide: APP_GUARD, useClass: scopedGuard(Scope.REQUEST) };
    await (kind === 'provider' ? handle(2, [Trail, global, Jobs]) : handle(2, [Trail, global], [Jobs]));

    expect(notes).toEqual(['guard 1', 'work 1', 'guard 2', 'work 2']);
  });

  it.each(['provider', 'controller'])('that is transient has one instance for all deliveries to a %s', async (kind) => {
    class Jobs {
      @DelayedHandler('jobs')
      @UseGuards(scopedGuard(Scope.TRANSIENT))
      work(payload: number): void {
        notes.push(`work ${payload}`);
      }
    }
    (kind === 'provider' ? Injectable() : Controller())(Jobs);
    await (kind === 'provider' ? handle(2, [Trail, Jobs]) : handle(2, [Trail], [Jobs]));

    expect(notes.map((note) => note.replace(/guard .*/, 'guard'))).toEqual(['guard', 'work 1', 'guard', 'work 2']);
    expect(notes[0]).toBe(notes[2]);
  });
});

describe('durable providers', () => {
  /** One sub-tree of instances per tenant. */
  class ByTenant implements ContextIdStrategy<DelayedMessage> {
    readonly #tenants = new Map<string, ContextId>();

    attach(contextId: ContextId, message: DelayedMessage): ReturnType<ContextIdStrategy['attach']> {
      const tenant = message.headers['tenant'] ?? '';
      const shared = this.#tenants.get(tenant) ?? ContextIdFactory.create();
      this.#tenants.set(tenant, shared);
      return {
        resolve: ({ isTreeDurable }: HostComponentInfo) => (isTreeDurable ? shared : contextId),
        payload: { tenant },
      };
    }
  }

  beforeEach(() => ContextIdFactory.apply(new ByTenant() as ContextIdStrategy));
  afterEach(() => ContextIdFactory.apply(undefined as unknown as ContextIdStrategy));

  @Injectable({ scope: Scope.REQUEST, durable: true })
  class Connection {
    readonly number = ++made;

    constructor(@Inject(REQUEST) readonly context: { tenant: string }) {}
  }

  it('are shared by the deliveries of a tenant', async () => {
    @Injectable({ scope: Scope.REQUEST, durable: true })
    class Jobs {
      constructor(private readonly connection: Connection) {}

      @DelayedHandler('jobs')
      work(payload: number): void {
        notes.push(`${payload} ${this.connection.number} ${this.connection.context.tenant}`);
      }
    }
    await handle(4, [Connection, Jobs]);

    expect(notes).toEqual(['1 1 odd', '2 2 even', '3 1 odd', '4 2 even']);
  });

  it('are also shared below a handler that is made for each delivery', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Jobs {
      constructor(
        private readonly connection: Connection,
        @Inject(REQUEST) private readonly message: DelayedMessage,
      ) {}

      @DelayedHandler('jobs')
      work(payload: number): void {
        notes.push(`${payload} ${this.connection.number} ${this.connection.context.tenant} ${this.message.id}`);
      }
    }
    await handle(4, [Connection, Jobs]);

    expect(notes).toEqual(['1 1 odd m1', '2 2 even m2', '3 1 odd m3', '4 2 even m4']);
  });
});
