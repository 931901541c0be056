import {
  type CanActivate,
  Catch,
  type ExceptionFilter,
  Injectable,
  Module,
  type NestInterceptor,
  type PipeTransform,
  type Provider,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
} from '@nestjs/common';
import { ConfigurationError, DelayedHandler, Payload } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { type AppSetup, useBed } from '../../support/app/bed.js';

const bed = useBed();

@Injectable()
class Verdict {
  readonly allowed = false;
}

@Injectable()
class Guard implements CanActivate {
  constructor(private readonly verdict: Verdict) {}

  canActivate(): boolean {
    return this.verdict.allowed;
  }
}

@Injectable()
class Jobs {
  @DelayedHandler('jobs')
  @UseGuards(Guard)
  work(): void {}
}

@Module({ providers: [Verdict, Jobs], exports: [Jobs] })
class JobsModule {}

describe('a guard runs if the class of the handler is provided', () => {
  const setups: Readonly<Record<string, AppSetup>> = {
    'as itself': { providers: [Verdict, Jobs] },
    'under another token': { providers: [Verdict, { provide: 'jobs', useClass: Jobs }] },
    'under an alias as well': { providers: [{ provide: 'jobs', useExisting: Jobs }, Verdict, Jobs] },
    'under an alias of another module': { imports: [JobsModule], providers: [{ provide: 'jobs', useExisting: Jobs }] },
    'by a factory of another module': {
      imports: [JobsModule],
      providers: [{ provide: 'jobs', useFactory: (jobs: Jobs) => jobs, inject: [Jobs] }],
    },
  };

  it.each(Object.entries(setups))('%s', async (_how, setup) => {
    const app = await bed.start(setup);
    await app.producer.publish('jobs', 1);

    expect((await app.events.dead.first()).failure.message).toContain('The guard Guard refused');
  });

  it('by a factory, if an instance of the guard is bound', async () => {
    class GuardedJobs {
      @DelayedHandler('jobs')
      @UseGuards(new Guard(new Verdict()))
      work(): void {}
    }
    const app = await bed.start({ providers: [{ provide: GuardedJobs, useFactory: () => new GuardedJobs() }] });
    await app.producer.publish('jobs', 1);

    expect((await app.events.dead.first()).failure.message).toContain('The guard Guard refused');
  });
});

@Injectable()
class Interceptor implements NestInterceptor {
  intercept: NestInterceptor['intercept'] = (_context, next) => next.handle();
}

@Injectable()
class Pipe implements PipeTransform {
  transform(value: unknown): unknown {
    return value;
  }
}

@Catch()
class Filter implements ExceptionFilter {
  catch(): void {}
}

@UseGuards(Guard)
class ClassGuarded {
  @DelayedHandler('jobs')
  work(): void {}
}

class Intercepted {
  @DelayedHandler('jobs')
  @UseInterceptors(Interceptor)
  work(): void {}
}

class Piped {
  @DelayedHandler('jobs')
  @UsePipes(Pipe)
  work(@Payload() _payload: unknown): void {}
}

class ParameterPiped {
  @DelayedHandler('jobs')
  work(@Payload(Pipe) _payload: unknown): void {}
}

class Filtered {
  @DelayedHandler('jobs')
  @UseFilters(Filter)
  work(): void {}
}

describe('the boot fails if Nest would leave out', () => {
  const left: readonly (readonly [string, string, Provider])[] = [
    ['Guard', 'a method, from a factory', { provide: Jobs, useFactory: () => new Jobs() }],
    ['Guard', 'a method, of a value', { provide: Jobs, useValue: new Jobs() }],
    ['Guard', 'a class', { provide: ClassGuarded, useFactory: () => new ClassGuarded() }],
    ['Interceptor', 'a method', { provide: Intercepted, useFactory: () => new Intercepted() }],
    ['Pipe', 'a method', { provide: Piped, useFactory: () => new Piped() }],
    ['Pipe', 'a parameter', { provide: ParameterPiped, useFactory: () => new ParameterPiped() }],
    ['Filter', 'a method', { provide: Filtered, useFactory: () => new Filtered() }],
  ];

  it.each(left)('a class %s that is bound to %s', async (name, _where, provider) => {
    const error = await bed.failingBoot({ providers: [Verdict, provider] });

    expect(error).toBeInstanceOf(ConfigurationError);
    for (const text of ['.work', `${name} would not run`, 'among the providers', `new ${name}()`]) {
      expect(error.message).toContain(text);
    }
    await bed.expectNothingOpen();
  });
});
