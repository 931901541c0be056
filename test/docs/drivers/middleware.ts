import type { AsyncLocalStorage } from 'node:async_hooks';
import { type DynamicModule, Injectable } from '@nestjs/common';
import { CLS_ID, ClsModule, ClsService } from 'nestjs-cls';
import { DelayedHandler, DelayQueueProducer } from 'nestjs-delay-queue';
import { expect, it } from 'vitest';
import { type Application, bootApplication, modulesMade } from '../../support/docs/application.js';
import type { DrivenDocument, Run } from '../../support/docs/driven-document.js';
import type { Declared } from '../../support/docs/run-block.js';

/** How handlers find out which id they have; each test says it. */
const context = { currentId: (): unknown => undefined };

/** Handlers that nobody gave an id, one of which publishes to the other. */
@Injectable()
class Orders {
  /** Which id each handler call had. */
  readonly calls: unknown[] = [];

  constructor(private readonly producer: DelayQueueProducer) {}

  @DelayedHandler('order.placed')
  async onPlaced(orderId: string): Promise<void> {
    this.calls.push({ placed: orderId, id: context.currentId() });
    await this.producer.publish('order.timeout', orderId, { delay: '30m' });
  }

  @DelayedHandler('order.timeout')
  onTimeout(orderId: string): void {
    this.calls.push({ timeout: orderId, id: context.currentId() });
  }
}

/** Publishes two orders, each within its id, and one without an id; resolves with the calls that follow. */
async function callsFor(
  { app, harness, producer }: Application,
  within: (id: string, work: () => Promise<unknown>) => Promise<unknown>,
): Promise<unknown[]> {
  await within('request-1', async () => producer.publish('order.placed', '1'));
  await harness.advance('1m');
  await within('request-2', async () => producer.publish('order.placed', '2'));
  await harness.advance('1m');
  await producer.publish('order.placed', '3');
  await harness.advance('1h');
  return app.get(Orders).calls;
}

const EXPECTED_CALLS = [
  { placed: '1', id: 'request-1' },
  { placed: '2', id: 'request-2' },
  { placed: '3', id: undefined },
  { timeout: '1', id: 'request-1' },
  { timeout: '2', id: 'request-2' },
  { timeout: '3', id: undefined },
];

export function middleware(document: DrivenDocument): void {
  document.drive('Correlation ids #1', asyncLocalStorage);
  document.drive('Correlation ids #2', nestjsCls);
}

function asyncLocalStorage(run: Run): void {
  it('brings the id from the publisher to the handler, and to the handler of what that publishes', async () => {
    let declared: Declared = {};
    const imports = await modulesMade(async () => (declared = await run()));
    const application = await bootApplication({ imports, providers: [Orders] });
    const storage = declared['context'] as AsyncLocalStorage<string>;
    context.currentId = () => storage.getStore();

    const calls = await callsFor(application, async (id, work) => storage.run(id, work));

    expect(calls).toEqual(EXPECTED_CALLS);
  });
}

function nestjsCls(run: Run): void {
  it('brings the id of the ClsService along', async () => {
    const imports: DynamicModule[] = [ClsModule.forRoot({ global: true }), ...(await modulesMade(run))];
    const application = await bootApplication({ imports, providers: [Orders] });
    const cls = application.app.get(ClsService);
    context.currentId = () => cls.getId();

    const calls = await callsFor(application, async (id, work) => cls.runWith({ [CLS_ID]: id }, work));

    expect(calls).toEqual(EXPECTED_CALLS);
  });
}
