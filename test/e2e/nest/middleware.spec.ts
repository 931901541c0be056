import {
  type DelayQueueMiddleware,
  DuplicateMessageError,
  InvalidArgumentError,
  PublishManyError,
  RetryLaterError,
  UnrecoverableError,
} from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { type RunningApp, useBed } from '../../support/app/bed.js';
import { Jobs } from '../../support/app/jobs.js';

const bed = useBed();

async function startWith(...middleware: DelayQueueMiddleware[]): Promise<{ app: RunningApp; jobs: Jobs }> {
  const app = await bed.start({ providers: [Jobs], options: { middleware } });
  return { app, jobs: app.get(Jobs) };
}

async function stored(): Promise<string[]> {
  return (await bed.keys()).filter((key) => /:(scheduled|messages)$/.test(key));
}

describe('several middlewares', () => {
  it('surround a publish and a handler call, the first outermost', async () => {
    const steps: string[] = [];
    const noting = (name: string): DelayQueueMiddleware => {
      const note = async <T>(what: string, next: () => Promise<T>): Promise<T> => {
        steps.push(`${name} before ${what}`);
        const result = await next();
        steps.push(`${name} after ${what}`);
        return result;
      };
      return {
        publish: async ([message], next) => note(`publish ${String(message?.payload)}`, next),
        handle: async ([message], next) => note(`handle ${String(message?.payload)}`, next),
      };
    };
    const { app, jobs } = await startWith(noting('a'), noting('b'));
    jobs.respond = (payload) => steps.push(`handle ${String(payload)}`);
    await app.producer.publish('jobs', 1, { delay: 20 });
    steps.push('published');
    await app.events.acked.first();

    expect(steps).toEqual([
      'a before publish 1',
      'b before publish 1',
      'b after publish 1',
      'a after publish 1',
      'published',
      'a before handle 1',
      'b before handle 1',
      'handle 1',
      'b after handle 1',
      'a after handle 1',
    ]);
  });
});

describe('middleware around a handler', () => {
  it('fails the attempt if it throws, and the handler is not called', async () => {
    let calls = 0;
    const { app, jobs } = await startWith({
      handle: async (_, next) => {
        if (++calls === 1) throw new Error('not today');
        return next();
      },
    });
    await app.producer.publish('jobs', 1, { id: 'a', backoff: { type: 'fixed', delay: 10 } });
    const retried = await app.events.retried.first();
    await app.events.acked.first();

    expect(retried).toMatchObject({ id: 'a', attempt: 1, delay: 10, error: { message: 'not today' } });
    expect(jobs.calls.map(({ message }) => message.attempt)).toEqual([2]);
  });

  it('fails the attempt if it throws after the handler', async () => {
    const { app, jobs } = await startWith({
      handle: async (_, next) => {
        await next();
        throw new Error('too bad');
      },
    });
    await app.producer.publish('jobs', 1, { attempts: 1 });

    expect((await app.events.dead.first()).failure).toMatchObject({ reason: 'failed', message: 'too bad' });
    expect(jobs.calls).toHaveLength(1);
  });

  it('sees what the handler throws, and acknowledges by catching it', async () => {
    const seen: unknown[] = [];
    const { app, jobs } = await startWith({
      handle: async (_, next) => next().catch((error: unknown) => seen.push(error)),
    });
    const error = new Error('boom');
    jobs.respond = () => {
      throw error;
    };
    await app.producer.publish('jobs', 1, { id: 'a' });

    expect(await app.events.acked.first()).toMatchObject({ id: 'a', attempt: 1 });
    expect(seen).toEqual([error]);
    expect(app.events.retried.past).toEqual([]);
  });

  it('acknowledges if it returns without calling next', async () => {
    const { app, jobs } = await startWith({ handle: async () => 'nothing to do' });
    await app.producer.publish('jobs', 1, { id: 'a' });

    expect(await app.events.acked.first()).toMatchObject({ id: 'a' });
    expect(jobs.calls).toEqual([]);
  });

  it('may use the errors that decide the outcome of a message', async () => {
    const { app, jobs } = await startWith({
      handle: async ([message], next) => {
        if (message?.payload === 'hopeless') throw new UnrecoverableError('no such tenant');
        if (message?.payload === 'later' && jobs.calls.length === 0) throw new RetryLaterError('10m');
        return next();
      },
    });
    await app.producer.publish('jobs', 'hopeless', { id: 'a' });
    await app.producer.publish('jobs', 'later', { id: 'b' });

    expect((await app.events.dead.first()).failure).toMatchObject({
      reason: 'unrecoverable',
      message: 'no such tenant',
    });
    expect(await app.events.retried.first()).toMatchObject({ id: 'b', delay: 600_000 });
    expect(jobs.calls).toEqual([]);
  });

  it('runs within the time limit of the handler, and sees its signal', async () => {
    let reason: unknown;
    const { app } = await startWith({
      handle: async ([message], next) => {
        await new Promise((resolve) => message?.signal.addEventListener('abort', resolve));
        reason = message?.signal.reason;
        return next();
      },
    });
    await app.producer.publish('jobs', 1, { attempts: 1, timeout: 30 });

    expect((await app.events.dead.first()).failure).toMatchObject({ name: 'HandlerTimeoutError' });
    expect(reason).toMatchObject({ code: 'HANDLER_TIMEOUT', timeout: 30 });
  });
});

describe('middleware around a publish', () => {
  it('prevents the publish if it throws, and the caller gets the error', async () => {
    const error = new Error('no tenant');
    const { app } = await startWith({
      publish: async () => {
        throw error;
      },
    });

    await expect(app.producer.publish('jobs', 1, { delay: '1h' })).rejects.toBe(error);
    await expect(app.producer.publishMany('jobs', [{ payload: 1 }])).rejects.toBe(error);
    expect(await stored()).toEqual([]);
    expect(app.events.published.past).toEqual([]);
  });

  it('sends nothing if it sets a header that is not a string, not even the other messages of publishMany', async () => {
    const { app } = await startWith({
      publish: async (messages, next) => {
        for (const { headers, payload } of messages) if (payload === 2) headers['tenant'] = 5 as unknown as string;
        return next();
      },
    });
    const publish = app.producer.publishMany('jobs', [{ payload: 1 }, { payload: 2 }, { payload: 3 }]);

    await expect(publish).rejects.toThrow(InvalidArgumentError);
    await expect(publish).rejects.toThrow("headers['tenant'] must be a string. Given: 5.");
    await expect(app.producer.publish('jobs', 2)).rejects.toThrow(InvalidArgumentError);
    expect(await stored()).toEqual([]);
  });

  it('lets the errors of Redis through, each message with its own result', async () => {
    const { app, jobs } = await startWith({
      publish: async (messages, next) => {
        for (const { headers } of messages) headers['tenant'] = 'acme';
        return next();
      },
    });
    await app.producer.publish('jobs', 1, { id: 'a', delay: '1h' });

    await expect(app.producer.publish('jobs', 2, { id: 'a' })).rejects.toThrow(DuplicateMessageError);
    const many = app.producer.publishMany('jobs', [
      { payload: 3, options: { id: 'a' } },
      { payload: 4, options: { id: 'b' } },
    ]);
    await expect(many).rejects.toThrow(PublishManyError);
    await expect(many).rejects.toMatchObject({ results: [{ status: 'rejected' }, { value: { id: 'b' } }] });
    const [call] = await jobs.called();
    expect(call?.message).toMatchObject({ id: 'b', headers: { tenant: 'acme' } });
  });
});
