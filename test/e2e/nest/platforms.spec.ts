import {
  type ArgumentsHost,
  Body,
  type CallHandler,
  type CanActivate,
  Catch,
  Controller,
  type ExceptionFilter,
  type ExecutionContext,
  Get,
  HttpException,
  Inject,
  Injectable,
  type NestInterceptor,
  NotFoundException,
  Post,
  type Provider,
  Scope,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, HttpAdapterHost, REQUEST } from '@nestjs/core';
import { DelayQueueContext, DelayQueueProducer, DelayedHandler, type DelayedMessage } from 'nestjs-delay-queue';
import { type Observable, map, tap } from 'rxjs';
import { beforeEach, describe, expect, it } from 'vitest';
import { useBed } from '../../support/app/bed.js';
import { Gate } from '../../support/waiting.js';
import { handleOne } from '../../support/app/handle-one.js';
import { HTTP_PLATFORMS, PLATFORMS, bootOn, serveOn } from '../../support/app/platforms.js';

const bed = useBed();

/** The calls, in order. */
let trail: string[] = [];

beforeEach(() => {
  trail = [];
});

const isMessage = (host: ArgumentsHost): boolean => host.getType<string>() === 'delay-queue';

/** Serves requests and messages. */
@Injectable()
class TenantGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    trail.push(`guard of ${context.getType<string>()}`);
    const { headers } = isMessage(context)
      ? DelayQueueContext.from(context).message
      : context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    return headers['tenant'] === 'acme';
  }
}

/** Wraps the response of a request; a message has none. */
@Injectable()
class AnswerInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (isMessage(context))
      return next.handle().pipe(tap({ complete: () => trail.push('interceptor of delay-queue') }));
    return next.handle().pipe(map((answer: unknown) => ({ answer })));
  }
}

/** Answers requests, and lets the exception decide for messages. */
@Catch()
@Injectable()
class ProblemFilter implements ExceptionFilter {
  constructor(private readonly host: HttpAdapterHost) {}

  catch(error: Error, host: ArgumentsHost): void {
    trail.push(`filter of ${host.getType<string>()}: ${error.message}`);
    if (isMessage(host)) return;
    const status = error instanceof HttpException ? error.getStatus() : 500;
    this.host.httpAdapter.reply(host.switchToHttp().getResponse(), { problem: error.message }, status);
  }
}

const GLOBAL: readonly Provider[] = [
  { provide: APP_GUARD, useClass: TenantGuard },
  { provide: APP_INTERCEPTOR, useClass: AnswerInterceptor },
  { provide: APP_FILTER, useClass: ProblemFilter },
];

interface Job {
  readonly fail?: string;
}

/** Publishes messages and handles them. */
@Injectable()
class JobService {
  constructor(private readonly producer: DelayQueueProducer) {}

  async plan(id: string, job: Job = {}, tenant = 'acme'): Promise<{ planned: string }> {
    await this.producer.publish('jobs', job, { id, delay: 10, headers: { tenant } });
    return { planned: id };
  }

  @DelayedHandler('jobs', { attempts: 1 })
  work({ fail }: Job, { id }: DelayedMessage): void {
    if (fail !== undefined) throw new Error(fail);
    trail.push(`work ${id}`);
  }
}

@Controller('jobs')
class JobsController {
  constructor(private readonly jobs: JobService) {}

  @Post()
  async plan(@Body() { id }: { id: string }): Promise<object> {
    return this.jobs.plan(id);
  }

  @Get('missing')
  missing(): never {
    throw new NotFoundException('no such job');
  }

  @DelayedHandler('audits')
  audit(payload: string): void {
    trail.push(`audit ${payload}`);
  }

  @Post('notes')
  @DelayedHandler('notes')
  note(@Body() body: { text: string }): object {
    trail.push(`note ${body.text}`);
    return { noted: body.text };
  }
}

async function post(url: string, body: unknown, tenant = 'acme'): Promise<{ status: number; body: unknown }> {
  const headers = { 'content-type': 'application/json', tenant };
  return answerOf(await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) }));
}

async function answerOf(response: Response): Promise<{ status: number; body: unknown }> {
  return { status: response.status, body: await response.json() };
}

describe.each(PLATFORMS)('on %s', (platform) => {
  it('a service publishes and handles, within global enhancers', async () => {
    const app = await bootOn(platform, bed, { providers: [JobService, ...GLOBAL] });
    await app.get(JobService).plan('good');
    await app.events.acked.first();

    expect(trail).toEqual(['guard of delay-queue', 'work good', 'interceptor of delay-queue']);
  });

  it('a guard refuses messages, and a filter sees exceptions', async () => {
    const app = await bootOn(platform, bed, { providers: [JobService, ...GLOBAL] });
    await app.get(JobService).plan('refused', {}, 'other');
    const refused = await app.events.dead.first(({ id }) => id === 'refused');
    await app.get(JobService).plan('failing', { fail: 'out of paper' });
    const failing = await app.events.dead.first(({ id }) => id === 'failing');

    expect(refused.failure).toMatchObject({
      reason: 'unrecoverable',
      message: expect.stringContaining('The guard TenantGuard refused the message.') as string,
    });
    expect(failing.failure).toMatchObject({ reason: 'failed', message: 'out of paper' });
    expect(trail).toEqual([
      'guard of delay-queue',
      'filter of delay-queue: Forbidden resource',
      'guard of delay-queue',
      'filter of delay-queue: out of paper',
    ]);
  });

  it('a request-scoped handler has an instance per message', async () => {
    let made = 0;
    @Injectable({ scope: Scope.REQUEST })
    class ScopedJobs {
      private readonly number = ++made;

      constructor(@Inject(REQUEST) private readonly message: DelayedMessage) {}

      @DelayedHandler('jobs')
      work(): void {
        trail.push(`${this.number} ${this.message.id}`);
      }
    }
    const app = await bootOn(platform, bed, { providers: [ScopedJobs] });
    for (const id of ['a', 'b']) {
      await app.producer.publish('jobs', 1, { id });
      await app.events.acked.first((event) => event.id === id);
    }

    expect(trail).toEqual(['1 a', '2 b']);
  });

  it('a controller handles messages', async () => {
    const app = await bootOn(platform, bed, { providers: [JobService], controllers: [JobsController] });
    await app.producer.publish('audits', 'of the year');
    await app.events.acked.first();

    expect(trail).toEqual(['audit of the year']);
  });

  it('close() lets a running handler finish, and leaves nothing open', async () => {
    const started = new Gate();
    const ending = new Gate();
    @Injectable()
    class SlowJobs {
      @DelayedHandler('jobs')
      async work(): Promise<void> {
        started.open();
        await ending.opened;
        trail.push('worked');
      }
    }
    const app = await bootOn(platform, bed, { providers: [SlowJobs] });
    await app.producer.publish('jobs', 1);
    await started.opened;
    const closed = app.close();
    ending.open();
    await closed;

    expect(trail).toEqual(['worked']);
    expect(app.events.acked.past).toHaveLength(1);
    await bed.expectNothingOpen();
  });
});

describe.each(HTTP_PLATFORMS)('an HTTP application on %s', (platform) => {
  const parts = { providers: [JobService], controllers: [JobsController] };
  const made = {
    'as APP_GUARD and its like': async () =>
      serveOn(platform, bed, { ...parts, providers: [...parts.providers, ...GLOBAL] }),
    'with useGlobalGuards() and its like': async () =>
      serveOn(platform, bed, parts, (nest) => {
        nest.useGlobalGuards(new TenantGuard());
        nest.useGlobalInterceptors(new AnswerInterceptor());
        nest.useGlobalFilters(new ProblemFilter(nest.get(HttpAdapterHost)));
      }),
  };

  it.each(Object.entries(made))(
    'has one guard, interceptor and filter for requests and messages: %s',
    async (_how, serve) => {
      const { app, url } = await serve();

      expect(await post(`${url}/jobs`, { id: 'one' })).toEqual({ status: 201, body: { answer: { planned: 'one' } } });
      await app.events.acked.first();
      expect(trail).toEqual(['guard of http', 'guard of delay-queue', 'work one', 'interceptor of delay-queue']);

      trail = [];
      expect(await post(`${url}/jobs`, { id: 'two' }, 'other')).toEqual({
        status: 403,
        body: { problem: 'Forbidden resource' },
      });
      const missing = await fetch(`${url}/jobs/missing`, { headers: { tenant: 'acme' } });
      expect(await answerOf(missing)).toEqual({ status: 404, body: { problem: 'no such job' } });
      expect(trail).toEqual([
        'guard of http',
        'filter of http: Forbidden resource',
        'guard of http',
        'filter of http: no such job',
      ]);
      expect(app.events.published.past).toHaveLength(1);

      trail = [];
      await app.get(JobService).plan('three', {}, 'other');
      await app.events.dead.first();
      expect(trail).toEqual(['guard of delay-queue', 'filter of delay-queue: Forbidden resource']);
    },
  );

  it('may have a method that is a route and a handler at once', async () => {
    const { app, url } = await serveOn(platform, bed, parts);
    const answer = await post(`${url}/jobs/notes`, { text: 'by request' });
    await app.producer.publish('notes', { text: 'by message' });
    await app.events.acked.first();

    expect(answer.body).toEqual({ noted: 'by request' });
    expect(trail).toEqual(['note by request', 'note by message']);
  });

  it('may have a request-scoped class that serves requests and messages, each as its REQUEST', async () => {
    @Controller({ scope: Scope.REQUEST, path: 'calls' })
    class CallsController {
      constructor(@Inject(REQUEST) private readonly request: { method?: string; id?: string }) {}

      @Post()
      call(): object {
        trail.push(`request ${this.request.method}`);
        return {};
      }

      @DelayedHandler('jobs')
      work(): void {
        trail.push(`message ${this.request.id}`);
      }
    }
    const { app, url } = await serveOn(platform, bed, { controllers: [CallsController] });
    await post(`${url}/calls`, {});
    await handleOne(app);

    expect(trail).toEqual(['request POST', 'message one']);
  });

  it('no longer listens once it is closed', async () => {
    const { app, url } = await serveOn(platform, bed, parts);
    await post(`${url}/jobs`, { id: 'one' });
    await app.events.acked.first();
    await app.close();

    await expect(fetch(`${url}/jobs/missing`)).rejects.toThrow('fetch failed');
    await bed.expectNothingOpen();
  });
});
