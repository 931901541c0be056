import {
  type CallHandler,
  type CanActivate,
  Controller,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  type PipeTransform,
  SetMetadata,
  type Type,
  UseGuards,
  UseInterceptors,
  UsePipes,
} from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR, APP_PIPE, Reflector } from '@nestjs/core';
import { DelayQueueContext, DelayedHandler, type DelayedMessage, Message, Payload } from 'nestjs-delay-queue';
import { type Observable, tap } from 'rxjs';
import { beforeEach, describe, expect, it } from 'vitest';
import { useBed } from '../../support/app/bed.js';
import { handleOne } from '../../support/app/handle-one.js';

const bed = useBed();

/** The calls, in order. */
let trail: string[] = [];

beforeEach(() => {
  trail = [];
});

@Injectable()
class Trail {
  add(entry: string): void {
    trail.push(entry);
  }
}

/** Classes of enhancers, each with a dependency, so that only Nest can make them. */
function guard(name: string): Type<CanActivate> {
  @Injectable()
  class TracingGuard implements CanActivate {
    constructor(private readonly notes: Trail) {}

    canActivate(context: ExecutionContext): boolean {
      this.notes.add(`guard ${name} of ${context.getClass().name}.${context.getHandler().name}`);
      return true;
    }
  }
  return TracingGuard;
}

function interceptor(name: string): Type<NestInterceptor> {
  @Injectable()
  class TracingInterceptor implements NestInterceptor {
    constructor(private readonly notes: Trail) {}

    intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
      this.notes.add(`before ${name}`);
      return next.handle().pipe(tap({ complete: () => this.notes.add(`after ${name}`) }));
    }
  }
  return TracingInterceptor;
}

function pipe(name: string): Type<PipeTransform> {
  @Injectable()
  class TracingPipe implements PipeTransform {
    constructor(private readonly notes: Trail) {}

    transform(value: unknown): unknown {
      this.notes.add(`pipe ${name}`);
      return value;
    }
  }
  return TracingPipe;
}

const sorted = (entries: readonly string[]): string[] => entries.filter((entry) => entry.startsWith('pipe')).toSorted();
const others = (entries: readonly string[]): string[] => entries.filter((entry) => !entry.startsWith('pipe'));

describe('enhancers that are classes with dependencies run in the order of Nest', () => {
  function handlerClass(): Type {
    @UseGuards(guard('class'))
    @UseInterceptors(interceptor('class'))
    @UsePipes(pipe('class'))
    class Jobs {
      @DelayedHandler('jobs')
      @UseGuards(guard('method'))
      @UseInterceptors(interceptor('method'))
      @UsePipes(pipe('method'))
      work(@Payload(pipe('parameter')) payload: { n: number }, @Message() message: DelayedMessage): void {
        trail.push(`work ${payload.n} ${message.id}`);
      }
    }
    return Jobs;
  }

  const global = [
    { provide: APP_GUARD, useClass: guard('global') },
    { provide: APP_INTERCEPTOR, useClass: interceptor('global') },
    { provide: APP_PIPE, useClass: pipe('global') },
  ];
  const expected = [
    'guard global of Jobs.work',
    'guard class of Jobs.work',
    'guard method of Jobs.work',
    'before global',
    'before class',
    'before method',
    // One parameter has all pipes, the other has no pipe of its own.
    ...['global', 'global', 'class', 'class', 'method', 'method', 'parameter'].map((name) => `pipe ${name}`),
    'work 1 one',
    'after method',
    'after class',
    'after global',
  ];

  it('on a provider', async () => {
    const Jobs = handlerClass();
    Injectable()(Jobs);
    const app = await bed.start({ providers: [Trail, Jobs, ...global] });
    await handleOne(app);

    expect(others(trail)).toEqual(others(expected));
    expect(sorted(trail)).toEqual(sorted(expected));
  });

  it('on a controller', async () => {
    const Jobs = handlerClass();
    Controller()(Jobs);
    const app = await bed.start({ providers: [Trail, ...global], controllers: [Jobs] });
    await handleOne(app);

    expect(others(trail)).toEqual(others(expected));
    expect(sorted(trail)).toEqual(sorted(expected));
  });

  it('including those of useGlobal…() of an HTTP application', async () => {
    @Injectable()
    class Jobs {
      @DelayedHandler('jobs')
      work(@Payload() payload: { n: number }): void {
        trail.push(`work ${payload.n}`);
      }
    }
    const app = await bed.compile({ providers: [Trail, Jobs] });
    const notes = app.get(Trail);
    const GlobalGuard = guard('global');
    const GlobalInterceptor = interceptor('global');
    const GlobalPipe = pipe('global');
    app.nest.useGlobalGuards(new GlobalGuard(notes));
    app.nest.useGlobalInterceptors(new GlobalInterceptor(notes));
    app.nest.useGlobalPipes(new GlobalPipe(notes));
    await app.nest.init();
    await handleOne(app);

    expect(trail).toEqual(['guard global of Jobs.work', 'before global', 'pipe global', 'work 1', 'after global']);
  });
});

describe('the context of an enhancer', () => {
  it('has the type delay-queue, class and method, their metadata, payload and message', async () => {
    const seen: unknown[] = [];
    @Injectable()
    class Looking implements CanActivate {
      constructor(private readonly reflector: Reflector) {}

      canActivate(context: ExecutionContext): boolean {
        const { payload, message, messages } = DelayQueueContext.from<{ n: number }>(context);
        const role = this.reflector.getAllAndOverride<string>('role', [context.getHandler(), context.getClass()]);
        seen.push(context.getType(), role, payload, message.id, message.payload.n, messages.length);
        return true;
      }
    }
    @Injectable()
    class Jobs {
      @DelayedHandler('jobs')
      @SetMetadata('role', 'worker')
      @UseGuards(Looking)
      work(): void {}
    }
    await handleOne(await bed.start({ providers: [Jobs] }));

    expect(seen).toEqual(['delay-queue', 'worker', { n: 1 }, 'one', 1, 1]);
  });
});
