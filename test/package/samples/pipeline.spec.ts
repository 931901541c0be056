import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { until } from '../../support/waiting.js';
import type { TestProcess } from '../../support/processes/test-process.js';
import { Api } from '../../support/samples/api.js';
import { expectToEndInOrder, isReady, useSample } from '../../support/samples/sample.js';

const INVOICE = { number: '1', customer: 'ada', amount: 4200, payBy: '2030-01-31T12:00:00Z' };

interface Status {
  readonly state: string;
  readonly attempts: number;
  readonly reason: string;
  readonly error: string;
}

describe('sample/03-pipeline', () => {
  const sample = useSample('03-pipeline');
  let service: TestProcess;
  let api: Api;

  beforeAll(async () => {
    service = sample.start('main', { MAIL_DELAY: '20ms', TENANTS: 'acme' });
    api = new Api(await isReady(service));
  });

  it('handles an invoice as a DTO, and logs all that happens under the correlation id of its request', async () => {
    const request = randomUUID();
    const { status, headers, body } = await send(INVOICE, { 'x-correlation-id': request });
    expect(status).toBe(202);
    expect(headers.get('x-correlation-id')).toBe(request);

    await service.printed(`[LoggingInterceptor, ${request}] POST /invoices succeeded after`);
    await service.printed(
      `[MailService, ${request}] To ada@example.com: invoice 1, 4200 cents to be paid by Thu Jan 31 2030`,
    );
    await service.printed(`[LoggingInterceptor, ${request}] invoice.mail ${body.id}, attempt 1, succeeded after`);
    expect(await ending(body.id)).toBe('gone');
  });

  it('keeps an invalid invoice as a dead letter, without retries', async () => {
    const { body } = await send({ ...INVOICE, amount: -1, payBy: 'soon' });
    expect(await ending(body.id)).toEqual({
      state: 'dead',
      attempts: 1,
      reason: 'unrecoverable',
      error: 'The payload is no invoice: amount must be a positive number, payBy must be a Date instance',
    });
  });

  it('keeps as a dead letter what the filter declares hopeless', async () => {
    const { body } = await send({ ...INVOICE, customer: 'nobody' });
    expect(await ending(body.id)).toEqual({
      state: 'dead',
      attempts: 1,
      reason: 'unrecoverable',
      error: 'There is no customer nobody',
    });
  });

  it('acknowledges what the filter declares done', async () => {
    const invoice = { ...INVOICE, number: 'twice' };
    await send(invoice);
    await service.printed('invoice twice, ');
    const { body } = await send(invoice);
    await service.printed(`${body.id} needs nothing more: Invoice twice has been mailed before`);
    expect(await ending(body.id)).toBe('gone');
  });

  it('keeps as a dead letter what the guard refuses, before anything else has seen it', async () => {
    const { headers, body } = await send(INVOICE, { 'x-tenant': 'stranger' });
    expect(await ending(body.id)).toMatchObject({ state: 'dead', attempts: 1, reason: 'unrecoverable' });
    expect(headers.get('x-correlation-id')).toMatch(/^[0-9a-f-]{36}$/);
    expect(service.output).not.toContain(`invoice.mail ${body.id}`);
  });

  it('ends in order at SIGTERM', async () => {
    await expectToEndInOrder(service);
    expect(await sample.stored.ofConsumers()).toEqual([]);
  });

  function send(invoice: object, headers: Record<string, string> = {}) {
    return api.post<{ id: string }>('/invoices', invoice, { 'x-tenant': 'acme', ...headers });
  }

  /** What has become of a message: it is gone, or this is known of the dead letter. */
  async function ending(id: string): Promise<'gone' | Status> {
    return until('the message to find its end', async () => {
      const { status, body } = await api.get<Status>(`/invoices/${id}`);
      return status === 404 ? 'gone' : body.state === 'dead' && body;
    });
  }
});
