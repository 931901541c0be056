import { randomUUID } from 'node:crypto';
import { SpanKind } from '@opentelemetry/api';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { until } from '../support/waiting.js';
import { TestProcess } from '../support/processes/test-process.js';
import type { ExportedSpan, TracedConfig, TracedReport } from './tracing-protocol.js';

/** A process whose OpenTelemetry SDK exports to memory, and the spans that it has reported. */
class TracedProcess extends TestProcess {
  readonly spans: ExportedSpan[] = [];
  ready = false;

  constructor(program: 'publisher' | 'consumer', config: TracedConfig) {
    super(program, `dist-test/fleet/programs/traced-${program}.js`, [JSON.stringify(config)]);
    this.onMessage((message) => {
      const report = message as TracedReport;
      if (report.kind === 'span') this.spans.push(report.span);
      else this.ready = true;
    });
  }

  all(name: string): ExportedSpan[] {
    return this.spans.filter((span) => span.name === name);
  }

  one(name: string): ExportedSpan {
    const [span, ...others] = this.all(name);
    if (!span || others.length > 0) throw new Error(`${this.name} has ${this.all(name).length} spans '${name}'.`);
    return span;
  }
}

const processes: TracedProcess[] = [];

function start(program: 'publisher' | 'consumer', config: TracedConfig): TracedProcess {
  const process = new TracedProcess(program, config);
  processes.push(process);
  return process;
}

afterEach(async () => {
  await Promise.all(processes.splice(0).map((process) => process.kill()));
});

describe('traces across two processes', () => {
  it('lead from the request to each attempt and its outcome', async () => {
    const config = { redisUrl: inject('redisUrl'), prefix: `tracing-${randomUUID()}` };
    const publisher = start('publisher', config);
    await publisher.exit();
    expect(publisher.ending, publisher.output).toBe(0);
    const consumer = start('consumer', config);
    await until(
      `the consumer's spans\n${consumer.output}`,
      () => consumer.all('settle orders').length >= 2 && consumer.all('settle mails').length >= 1,
      120_000,
    );

    const request = publisher.one('request');
    const send = publisher.one('send orders');
    expect(send).toMatchObject({ kind: SpanKind.PRODUCER, traceId: request.traceId, parentSpanId: request.spanId });

    const [first, second] = consumer.all('process orders') as [ExportedSpan, ExportedSpan];
    for (const attempt of [first, second]) {
      expect(attempt).toMatchObject({
        kind: SpanKind.CONSUMER,
        traceId: request.traceId,
        parentSpanId: send.spanId,
        isParentRemote: true,
        links: [{ traceId: request.traceId, spanId: send.spanId }],
      });
      expect(attempt.attributes['messaging.destination.partition.id']).toBe(
        send.attributes['messaging.destination.partition.id'],
      );
    }
    expect([first, second].map(({ attributes, error }) => [attributes['error.type'], error])).toEqual([
      ['TypeError', 'not yet'],
      [undefined, undefined],
    ]);
    const settles = consumer.all('settle orders');
    expect(settles.map(({ traceId, parentSpanId }) => [traceId, parentSpanId])).toEqual([
      [request.traceId, first.spanId],
      [request.traceId, second.spanId],
    ]);
    expect(settles.map(({ attributes }) => attributes['nestjs_delay_queue.settle.outcome'])).toEqual(['retry', 'ack']);

    const created = publisher.all('create mails');
    expect(created.map(({ traceId, parentSpanId }) => [traceId, parentSpanId])).toEqual(
      created.map(() => [request.traceId, request.spanId]),
    );
    const batch = consumer.one('process mails');
    expect(batch.traceId).not.toBe(request.traceId);
    expect(batch.attributes['messaging.batch.message_count']).toBe(3);
    expect(batch.links).toEqual(
      created.map(({ traceId, spanId, attributes }) => ({ traceId, spanId, id: attributes['messaging.message.id'] })),
    );
    expect(consumer.one('settle mails').links.map(({ spanId }) => spanId)).toEqual(created.map(() => batch.spanId));
  });
});
