import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { DelayedMessage, DeliveryOutcome, SettleStatus } from 'nestjs-delay-queue';
import { openTelemetry } from 'nestjs-delay-queue/opentelemetry';
import { describe, expect, it } from 'vitest';
import { type FullMiddleware, delivered } from '../../support/units/traced-messages.js';
import { useSpans, withinSpan } from '../../support/units/use-spans.js';

const log = useSpans();
const { handle, settle } = openTelemetry() as FullMiddleware;

const PUBLISHER = { traceId: '1'.repeat(32), spanId: '1'.repeat(16) };
const HEADERS = { traceparent: `00-${PUBLISHER.traceId}-${PUBLISHER.spanId}-01` };

const SETTLE = {
  'messaging.system.name': 'nestjs_delay_queue',
  'messaging.system': 'nestjs_delay_queue',
  'messaging.operation.name': 'settle',
  'messaging.operation.type': 'settle',
  'messaging.destination.name': 'orders',
  'messaging.destination.partition.id': '3',
};

const answer =
  (...statuses: SettleStatus[]) =>
  async (): Promise<SettleStatus[]> =>
    statuses;

function outcomeOf(
  id: string,
  message: DelayedMessage | undefined,
  more: Partial<DeliveryOutcome> = {},
): DeliveryOutcome {
  const fields = { topic: 'orders', partition: 3, id, key: id, attempt: 1, delay: undefined, failure: undefined };
  return { ...fields, message, outcome: 'ack', ...more };
}

async function handled(...messages: DelayedMessage[]): Promise<void> {
  await handle(messages, async () => {});
}

describe('the span of a settle', () => {
  it('of one delivery is a client, a child of its handler call and linked to it', async () => {
    const message = delivered('a', HEADERS);
    await handled(message);
    expect(await settle([outcomeOf('a', message)], answer('settled'))).toEqual(['settled']);

    const span = log.one('settle orders');
    const process = log.one('process orders').spanContext();
    expect(span.kind).toBe(SpanKind.CLIENT);
    expect(span.parentSpanContext?.spanId).toBe(process.spanId);
    expect(span.spanContext().traceId).toBe(PUBLISHER.traceId);
    expect(span.links.map((link) => link.context.spanId)).toEqual([process.spanId]);
    expect(span.attributes).toEqual({
      ...SETTLE,
      'messaging.message.id': 'a',
      'nestjs_delay_queue.message.attempt': 1,
      'nestjs_delay_queue.settle.outcome': 'ack',
      'nestjs_delay_queue.settle.status': 'settled',
    });
    expect(span.status.code).toBe(SpanStatusCode.UNSET);
  });

  it('shows why a message is dead or retried, without the text of the error', async () => {
    const failure = { reason: 'expired', name: 'Error', message: 'top secret' } as const;
    await settle([outcomeOf('a', undefined, { outcome: 'dead', failure })], answer('settled'));

    const span = log.one('settle orders');
    expect(span.attributes).toMatchObject({
      'nestjs_delay_queue.settle.outcome': 'dead',
      'nestjs_delay_queue.settle.reason': 'expired',
    });
    expect(JSON.stringify([span.attributes, span.events])).not.toContain('top secret');
    expect(span).toMatchObject({ parentSpanContext: undefined, links: [] });
  });

  it('of several deliveries begins its own trace, with a link to each of their handler calls', async () => {
    const [a, b] = [delivered('a', HEADERS), delivered('b')];
    await handled(a);
    await handled(b);
    await withinSpan(log, 'somebody', () =>
      settle(
        [outcomeOf('a', a), outcomeOf('b', b), outcomeOf('c', undefined)],
        answer('settled', 'settled', 'settled'),
      ),
    );

    const span = log.one('settle orders');
    const processes = log.all('process orders').map((each) => each.spanContext());
    expect(span.parentSpanContext).toBeUndefined();
    expect(processes.map(({ traceId }) => traceId)).not.toContain(span.spanContext().traceId);
    expect(span.links.map((link) => link.context.spanId)).toEqual(processes.map(({ spanId }) => spanId));
    expect(span.links.map((link) => link.attributes?.['messaging.message.id'])).toEqual(['a', 'b']);
    expect(span.attributes).toEqual({
      ...SETTLE,
      'messaging.batch.message_count': 3,
      'nestjs_delay_queue.settle.outcome': 'ack',
      'nestjs_delay_queue.settle.status': 'settled',
    });
  });

  it('has different outcomes of its deliveries in the links, and those that did not take effect as events', async () => {
    const [a, b] = [delivered('a'), delivered('b')];
    await handled(a, b);
    await settle([outcomeOf('a', a), outcomeOf('b', b, { outcome: 'release' })], answer('settled', 'stale'));

    const span = log.one('settle orders');
    const process = log.one('process orders').spanContext().spanId;
    expect(
      span.links.map((link) => [link.context.spanId, link.attributes?.['nestjs_delay_queue.settle.outcome']]),
    ).toEqual([
      [process, 'ack'],
      [process, 'release'],
    ]);
    expect(span.attributes).toEqual({ ...SETTLE, 'messaging.batch.message_count': 2 });
    expect(span.events.map(({ name, attributes }) => [name, attributes])).toEqual([
      ['nestjs_delay_queue.not_settled', { 'messaging.message.id': 'b', 'nestjs_delay_queue.settle.status': 'stale' }],
    ]);
  });

  it('is linked to the publisher if the message was never handled', async () => {
    await settle([outcomeOf('a', delivered('a', HEADERS), { outcome: 'release' })], answer('settled'));

    const span = log.one('settle orders');
    expect(span.links.map((link) => link.context)).toMatchObject([PUBLISHER]);
    expect(span.parentSpanContext).toBeUndefined();
  });

  it('has failed if the settle is given up', async () => {
    const error = new TypeError('closed');
    const givenUp = settle([outcomeOf('a', undefined)], async () => {
      throw error;
    });

    await expect(givenUp).rejects.toBe(error);
    const span = log.one('settle orders');
    expect(span.status).toEqual({ code: SpanStatusCode.ERROR, message: 'closed' });
    expect(span.attributes['error.type']).toBe('TypeError');
  });
});
