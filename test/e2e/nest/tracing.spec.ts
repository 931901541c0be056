import { Inject, Injectable, Scope, type Type } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { context, trace } from '@opentelemetry/api';
import {
  DelayedHandler,
  type DelayedMessage,
  DelayQueueProducer,
  type DelayQueueMiddleware,
  UnrecoverableError,
} from 'nestjs-delay-queue';
import { openTelemetry } from 'nestjs-delay-queue/opentelemetry';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type RunningApp, useBed } from '../../support/app/bed.js';
import { Jobs } from '../../support/app/jobs.js';
import { eventually } from '../../support/waiting.js';
import { SpanLog } from '../../support/readings/span-log.js';

const bed = useBed();
const log = new SpanLog();

beforeAll(() => log.register());
beforeEach(() => log.forget());
afterAll(() => log.unregister());

async function start(provider: Type, ...more: DelayQueueMiddleware[]): Promise<RunningApp> {
  return bed.start({ providers: [provider], options: { middleware: [openTelemetry(), ...more] } });
}

/** Waits until this many spans have ended. */
async function ended(name: string, count = 1): Promise<void> {
  await eventually(() => expect(log.all(name)).toHaveLength(count));
}

/** The span that is active now. */
function activeSpan(): string | undefined {
  return trace.getSpanContext(context.active())?.spanId;
}

describe('a traced application', () => {
  it('leads from a publish through the handler to what the handler publishes', async () => {
    @Injectable()
    class Chain {
      constructor(private readonly producer: DelayQueueProducer) {}

      @DelayedHandler('jobs')
      async work(): Promise<void> {
        await new Promise((resolve) => setImmediate(resolve));
        await this.producer.publish('mails', 'x');
      }

      @DelayedHandler('mails')
      send(): void {}
    }
    const app = await start(Chain);
    await app.producer.publish('jobs', 1, { id: 'a' });
    await ended('settle mails');
    await ended('settle jobs');

    const names = ['send jobs', 'process jobs', 'send mails', 'process mails', 'settle mails'];
    const spans = names.map((name) => log.one(name));
    expect(spans.map(({ parentSpanContext }) => parentSpanContext?.spanId)).toEqual([
      undefined,
      ...spans.slice(0, -1).map((span) => span.spanContext().spanId),
    ]);
    expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1);
  });

  it('runs a request-scoped handler, and what Nest builds for it, within the span', async () => {
    const seen: unknown[] = [];

    @Injectable({ scope: Scope.REQUEST })
    class Scoped {
      constructor(@Inject(REQUEST) request: DelayedMessage) {
        seen.push(request.id, activeSpan());
      }

      @DelayedHandler('jobs')
      work(): void {
        seen.push(activeSpan());
      }
    }
    const app = await start(Scoped);
    await app.producer.publish('jobs', 1, { id: 'a' });
    await ended('process jobs');

    const { spanId } = log.one('process jobs').spanContext();
    expect(seen).toEqual(['a', spanId, spanId]);
  });

  it('handles each message of publishMany as a child of its own span, among many at once', async () => {
    const app = await start(Jobs);
    const seen = new Map<string, string | undefined>();
    app.get(Jobs).respond = async (_payload, { id }) => {
      await new Promise((resolve) => setImmediate(resolve));
      seen.set(id, activeSpan());
    };
    const ids = Array.from({ length: 50 }, (_, i) => `m${i}`);
    await app.producer.publishMany(
      'jobs',
      ids.map((id) => ({ payload: null, options: { id } })),
    );
    await ended('process jobs', ids.length);

    const byId = (name: string) =>
      new Map(log.all(name).map((span) => [span.attributes['messaging.message.id'], span]));
    const [created, processed] = [byId('create jobs'), byId('process jobs')];
    for (const id of ids) {
      expect(processed.get(id)?.parentSpanContext?.spanId).toBe(created.get(id)?.spanContext().spanId);
      expect(seen.get(id)).toBe(processed.get(id)?.spanContext().spanId);
    }
    expect(log.one('send jobs').links).toHaveLength(ids.length);
  });

  it('settles every delivery in one span, which links to the span of its handling', async () => {
    const app = await start(Jobs);
    const ids = Array.from({ length: 50 }, (_, i) => `m${i}`);
    await app.producer.publishMany(
      'jobs',
      ids.map((id) => ({ payload: null, options: { id } })),
    );
    await app.events.acked.take(ids.length);
    await eventually(() => {
      const links = log.all('settle jobs').flatMap((span) => span.links.map((link) => link.context.spanId));
      const handled = log.all('process jobs').map((span) => span.spanContext().spanId);
      expect(handled).toHaveLength(ids.length);
      expect(links.toSorted()).toEqual(handled.toSorted());
    });
  });

  it('shows a message that dies', async () => {
    const app = await start(Jobs);
    app.get(Jobs).respond = () => {
      throw new UnrecoverableError('hopeless');
    };
    await app.producer.publish('jobs', 1, { id: 'a' });
    await ended('settle jobs');

    expect(log.one('process jobs').attributes['error.type']).toBe('UnrecoverableError');
    expect(log.one('settle jobs').attributes).toMatchObject({
      'messaging.message.id': 'a',
      'nestjs_delay_queue.settle.outcome': 'dead',
      'nestjs_delay_queue.settle.reason': 'unrecoverable',
      'nestjs_delay_queue.settle.status': 'settled',
    });
  });

  it('shows a message that dies unhandled', async () => {
    const publisher = await bed.start({ options: { consumer: false } });
    await publisher.producer.publish('jobs', 1, { id: 'a', expireAfter: 1 });
    await new Promise((resolve) => setTimeout(resolve, 20));
    await start(Jobs);
    await ended('settle jobs');

    expect(log.all('process jobs')).toEqual([]);
    expect(log.one('settle jobs').attributes).toMatchObject({
      'messaging.message.id': 'a',
      'nestjs_delay_queue.settle.outcome': 'dead',
      'nestjs_delay_queue.settle.reason': 'expired',
    });
  });

  it('shows an outcome without effect because the message was cancelled', async () => {
    const app = await start(Jobs);
    app.get(Jobs).respond = async () => {
      await app.producer.cancel('jobs', 'a');
      throw new Error('too late');
    };
    await app.producer.publish('jobs', 1, { id: 'a' });
    await ended('settle jobs');

    expect(log.one('settle jobs').attributes).toMatchObject({
      'nestjs_delay_queue.settle.outcome': 'retry',
      'nestjs_delay_queue.settle.reason': 'failed',
      'nestjs_delay_queue.settle.status': 'cancelled',
    });
  });

  it('runs other middleware within its spans if it is the first', async () => {
    const seen: unknown[] = [];
    const app = await start(Jobs, {
      publish: async (_, next) => {
        seen.push(activeSpan());
        return next();
      },
      handle: async (_, next) => {
        seen.push(activeSpan());
        return next();
      },
      settle: async (_, next) => {
        seen.push(activeSpan());
        return next();
      },
    });
    await app.producer.publish('jobs', 1);
    await ended('settle jobs');

    const spans = ['send jobs', 'process jobs', 'settle jobs'].map((name) => log.one(name));
    expect(seen).toEqual(spans.map((span) => span.spanContext().spanId));
  });

  it('passes the context in the headers', async () => {
    const app = await start(Jobs);
    await app.producer.publish('jobs', 1, { headers: { tenant: 'acme' } });
    const [call] = await app.get(Jobs).called();
    await ended('settle jobs');

    const { traceId, spanId } = log.one('send jobs').spanContext();
    expect(call?.message.headers).toEqual({ tenant: 'acme', traceparent: `00-${traceId}-${spanId}-01` });
  });
});
