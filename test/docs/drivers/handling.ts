import { Injectable } from '@nestjs/common';
import { DelayedHandler, type DelayQueueMiddleware, DelayQueueModule, HandlerTimeoutError } from 'nestjs-delay-queue';
import { expect, it } from 'vitest';
import { SECOND, START } from '../../support/kit/kit-bed.js';
import { type Application, bootApplication, modulesMade } from '../../support/docs/application.js';
import type { DrivenDocument, Run } from '../../support/docs/driven-document.js';
import { classIn } from '../../support/docs/run-block.js';
import { type FetchCall, noAnswer, status, stubFetch } from '../../support/docs/stub-fetch.js';

/** All messages of a topic in one partition, as those of a batch are. */
const ONE_PARTITION = [DelayQueueModule.forRoot({ defaults: { partitions: 1 } })];

async function bootWith(run: Run, name = 'Excerpt'): Promise<Application> {
  return bootApplication({ imports: ONE_PARTITION, providers: [classIn(await run(), name)] });
}

async function publishInvoices({ producer }: Application, ...invoiceIds: string[]): Promise<void> {
  await producer.publishMany(
    'invoice.reminder',
    invoiceIds.map((invoiceId) => ({ payload: { invoiceId }, options: { id: `r-${invoiceId}` } })),
  );
}

const after = (milliseconds: number): Date => new Date(START.getTime() + milliseconds);

export function handling(document: DrivenDocument): void {
  document.drive('Handling #1', reminder);
  document.drive('Acknowledge, retry or dead-letter #1', newsletter);
  document.drive('At-most-once delivery #1', atMostOnce);
  document.drive('Batches #1', batch);
  document.drive('Batches #2', batchWithOutcomes);
  document.drive('Several topics with priorities #1', severalTopics);
}

/** Never comes back, if a position says so. */
@Injectable()
class Positions {
  readonly called: string[] = [];

  @DelayedHandler('position.changed')
  async onChanged(payload: string): Promise<void> {
    this.called.push(payload);
    if (payload === 'lost') throw new Error('There is no such place');
    if (payload === 'stuck') await new Promise(() => {});
  }
}

function atMostOnce(run: Run): void {
  it('calls the handler once, whatever it does', async () => {
    const imports = await modulesMade(run);
    const { app, harness, producer, events } = await bootApplication({ imports, providers: [Positions] });
    const errors: string[] = [];
    events.errors.subscribe(({ source, id, error }) => errors.push(`${source} ${id}: ${(error as Error).name}`));
    for (const id of ['fine', 'lost', 'stuck']) await producer.publish('position.changed', id, { id });
    await harness.advance('1h');

    expect(app.get(Positions).called.toSorted()).toEqual(['fine', 'lost', 'stuck']);
    expect(errors.toSorted()).toEqual(['handler lost: Error', 'handler stuck: HandlerTimeoutError']);
    expect(harness.deadLetters('position.changed')).toEqual([]);
  });
}

function reminder(run: Run): void {
  it('sends a reminder with the id of the message as idempotency key, and is done', async () => {
    const fetch = stubFetch(() => status(200));
    const application = await bootWith(run);
    await publishInvoices(application, '7');
    await application.harness.advance('1d');

    expect(fetch.mock.calls).toEqual([
      [
        'https://mail.example.com/reminders/7',
        { method: 'POST', headers: { 'idempotency-key': 'r-7' }, signal: expect.any(AbortSignal) as AbortSignal },
      ],
    ]);
    expect(application.harness.deadLetters('invoice.reminder')).toEqual([]);
  });

  it('puts a message off for 30 seconds where the server is busy, however often', async () => {
    const fetch = stubFetch(() => status(429));
    const application = await bootWith(run);
    await publishInvoices(application, '7');
    await application.harness.advance('5m');

    expect(fetch).toHaveBeenCalledTimes(11);
    const { harness } = application;
    expect(harness.scheduled('invoice.reminder')).toMatchObject([{ attempts: 0, dueAt: after(330 * SECOND) }]);
  });

  it('gives up at once where there is no such invoice', async () => {
    stubFetch(() => status(404));
    const application = await bootWith(run);
    await publishInvoices(application, '7');
    await application.harness.settle();

    expect(application.harness.deadLetters('invoice.reminder')).toMatchObject([
      { attempts: 1, failure: { reason: 'unrecoverable', message: 'There is no invoice 7' } },
    ]);
  });

  it('tries three times, 10 seconds apart, where the server fails', async () => {
    const fetch = stubFetch(() => status(500));
    const application = await bootWith(run);
    const { harness } = application;
    await publishInvoices(application, '7');

    await harness.advance(20 * SECOND - 1);
    expect(fetch).toHaveBeenCalledTimes(2);
    await harness.advance(1);

    expect(fetch).toHaveBeenCalledTimes(3);
    expect(harness.deadLetters('invoice.reminder')).toMatchObject([
      { attempts: 3, diedAt: after(20 * SECOND), failure: { message: 'The mail server answers 500' } },
    ]);
  });

  it('aborts the request after 30 seconds, and tries again', async () => {
    const fetch = stubFetch(async (_url, init) => (fetch.mock.calls.length === 1 ? noAnswer(init) : status(200)));
    const application = await bootWith(run);
    await publishInvoices(application, '7');

    await application.harness.advance('30s');
    expect(fetch.mock.calls[0]?.[1].signal?.reason).toBeInstanceOf(HandlerTimeoutError);
    expect(application.harness.scheduled('invoice.reminder')).toMatchObject([{ attempts: 1 }]);
    await application.harness.advance('10s');

    expect(fetch).toHaveBeenCalledTimes(2);
    expect(application.harness.scheduled('invoice.reminder')).toEqual([]);
  });
}

function newsletter(run: Run): void {
  const recipients = ['anna', 'ben', 'carl'];
  const urls = recipients.map((name) => `https://mail.example.com/news/${name}`);

  it('sends one mail after another, and is done after the last', async () => {
    const steps: string[] = [];
    stubFetch(async (url) => {
      steps.push(url);
      await new Promise((resolve) => setImmediate(resolve));
      steps.push('sent');
      return status(200);
    });
    const { harness, producer, events } = await bootWith(run, 'Newsletters');
    events.acked.subscribe(() => steps.push('acknowledged'));
    await producer.publish('newsletter.due', { recipients });
    await harness.settle();

    expect(steps).toEqual([...urls.flatMap((url) => [url, 'sent']), 'acknowledged']);
  });

  it('is tried again where a mail fails', async () => {
    const fetch = stubFetch(() => {
      if (fetch.mock.calls.length === 2) throw new TypeError('fetch failed');
      return status(200);
    });
    const { harness, producer } = await bootWith(run, 'Newsletters');
    await producer.publish('newsletter.due', { recipients });
    await harness.advance('2s');

    expect(fetch.mock.calls.map(([url]) => url)).toEqual([...urls.slice(0, 2), ...urls]);
    expect(harness.scheduled('newsletter.due')).toEqual([]);
  });
}

function batch(run: Run): void {
  const orders = ['1', '2', '3'].map((orderId) => ({ orderId }));

  async function index(...statuses: number[]) {
    const fetch = stubFetch(() => status(statuses[fetch.mock.calls.length - 1] ?? 200));
    const application = await bootWith(run);
    await application.producer.publishMany(
      'order.changed',
      orders.map((payload) => ({ payload, options: { delay: '1m' } })),
    );
    await application.harness.advance('1m');
    return { fetch, ...application };
  }

  it('indexes all orders that are due in one request', async () => {
    const { fetch, harness } = await index();

    expect(fetch).toHaveBeenCalledExactlyOnceWith('https://search.example.com/orders', expect.anything());
    expect(bodyOf(fetch.mock.calls[0])).toEqual(orders);
    expect(harness.scheduled('order.changed')).toEqual([]);
  });

  it('tries all of them again where the request fails', async () => {
    const { fetch, harness } = await index(503);
    expect(harness.scheduled('order.changed')).toMatchObject(
      orders.map(() => ({ failure: { message: 'The search server answers 503' } })),
    );
    await harness.advance('2s');

    expect(fetch.mock.calls.slice(1).flatMap((call) => bodyOf(call) as object[])).toEqual(
      expect.arrayContaining(orders),
    );
    expect(harness.scheduled('order.changed')).toEqual([]);
  });
}

function bodyOf(call: Parameters<FetchCall> | undefined): unknown {
  return JSON.parse(call?.[1].body as string);
}

function batchWithOutcomes(run: Run): void {
  it('tries only those again that failed', async () => {
    const fetch = stubFetch((url) => status(url.endsWith('/2') && fetch.mock.calls.length <= 3 ? 500 : 200));
    const sizes: number[] = [];
    const counting: DelayQueueMiddleware = { handle: async ({ length }, next) => (sizes.push(length), next()) };
    const imports = [DelayQueueModule.forRoot({ defaults: { partitions: 1 }, middleware: [counting] })];
    const application = await bootApplication({ imports, providers: [classIn(await run(), 'Excerpt')] });
    await publishInvoices(application, '1', '2', '3');
    await application.harness.settle();

    expect(application.harness.scheduled('invoice.reminder')).toMatchObject([
      { id: 'r-2', attempts: 1, failure: { message: 'The mail server answers 500' } },
    ]);
    await application.harness.advance('2s');

    const keys = fetch.mock.calls.map(([, { headers }]) => (headers as Record<string, string>)['idempotency-key']);
    expect(keys).toEqual(['r-1', 'r-2', 'r-3', 'r-2']);
    expect(sizes).toEqual([3, 1]);
    expect(application.harness.scheduled('invoice.reminder')).toEqual([]);
  });
}

function severalTopics(run: Run): void {
  it('makes ten calls at once, and takes express orders first as soon as there is room', async () => {
    const running: (() => void)[] = [];
    const fetch = stubFetch(async () => {
      await new Promise<void>((resolve) => running.push(resolve));
      return status(200);
    });
    const topicsOfCalls = (): unknown[] => fetch.mock.calls.map(([url]) => new URL(url).pathname.split('/')[1]);
    const application = await bootWith(run);
    await publishOrders(application, 'order.standard', 12);
    await application.harness.settle();
    await publishOrders(application, 'order.express', 4);
    await application.harness.settle();
    expect(topicsOfCalls()).toEqual(times(10, 'order.standard'));

    for (const answer of running.splice(0)) answer();
    await application.harness.settle();

    expect(topicsOfCalls().slice(10)).toEqual([...times(4, 'order.express'), ...times(2, 'order.standard')]);
    for (const answer of running) answer();
  });
}

async function publishOrders({ producer }: Application, topic: string, count: number): Promise<void> {
  await producer.publishMany(
    topic,
    times(count, { orderId: '42' }).map((payload) => ({ payload })),
  );
}

function times<T>(count: number, value: T): T[] {
  return Array.from({ length: count }, () => value);
}
