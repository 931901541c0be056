import { Injectable, Module, type Provider, Scope } from '@nestjs/common';
import {
  ConfigurationError,
  DelayQueueAdmin,
  DelayQueueReceiver,
  DelayedHandler,
  type ForwardOptions,
  type TopicOptions,
  UnrecoverableError,
} from 'nestjs-delay-queue';
import { NEVER, Observable, Subject, firstValueFrom, of, throwError } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { type AppSetup, useBed } from '../support/app/bed.js';
import { eventually } from '../support/waiting.js';

const bed = useBed();
const TOPIC = 'order.timeout';

/** A client as those of `@nestjs/microservices` are, which records what it emits. */
class RecordingClient {
  readonly emitted: { readonly pattern: unknown; readonly data: unknown }[] = [];
  /** `n` counts the calls from 1. */
  result: (n: number) => unknown = () => of(undefined);

  emit(pattern: unknown, data: unknown): Observable<unknown> {
    return this.result(this.emitted.push({ pattern, data })) as Observable<unknown>;
  }
}

async function startForwarding(
  forward: Partial<ForwardOptions> = {},
  { topic = {}, ...setup }: AppSetup & { topic?: TopicOptions } = {},
) {
  const client = new RecordingClient();
  const options = {
    ...setup.options,
    topics: {
      [TOPIC]: {
        partitions: 1,
        backoff: { type: 'fixed' as const, delay: 10 },
        ...topic,
        forward: { client, pattern: 'order.expired', ...forward },
      },
    },
  };
  return { app: await bed.start({ ...setup, options }), client };
}

describe('a forwarded message', () => {
  it('is emitted with the payload as it was published, and acknowledged when the Observable completes', async () => {
    const { app, client } = await startForwarding();
    const sending = new Subject<void>();
    client.result = () => sending;
    await app.producer.publish(TOPIC, { order: 42 }, { id: 'a' });
    await eventually(() => expect(client.emitted).toEqual([{ pattern: 'order.expired', data: { order: 42 } }]));
    expect(await app.get(DelayQueueAdmin).get(TOPIC, 'a')).toMatchObject({ state: 'in-flight' });
    expect(app.events.acked.past).toEqual([]);
    sending.complete();
    await app.events.acked.first();
    expect(app.logs.lines.join('\n')).toContain(`forward to order.expired handles topic '${TOPIC}'`);
  });

  it('is emitted as the application shapes it, under a pattern of several parts', async () => {
    const { app, client } = await startForwarding({
      pattern: { event: 'expired', version: 2 },
      data: ({ id, payload, headers, attempt }) => ({ id, payload, headers, attempt }),
    });
    await app.producer.publish(TOPIC, { order: 42 }, { id: 'a', headers: { tenant: 'x' } });
    await app.events.acked.first();
    expect(client.emitted).toEqual([
      {
        pattern: { event: 'expired', version: 2 },
        data: { id: 'a', payload: { order: 42 }, headers: { tenant: 'x' }, attempt: 1 },
      },
    ]);
  });

  it.each([
    ['the Observable errors', () => throwError(() => new Error('Connection lost'))],
    [
      'emit() throws',
      () => {
        throw new Error('Connection lost');
      },
    ],
  ])('comes again if %s', async (_, fail) => {
    const { app, client } = await startForwarding();
    client.result = (n) => (n < 3 ? fail() : of(1, 2));
    await app.producer.publish(TOPIC, 1, { id: 'a' });
    expect(await app.events.acked.first()).toMatchObject({ attempt: 3 });
    expect(app.events.retried.past.map(({ error }) => (error as Error).message)).toEqual([
      'Connection lost',
      'Connection lost',
    ]);
  });

  it('is a dead letter at once if the application says so', async () => {
    const { app, client } = await startForwarding({
      data: () => {
        throw new UnrecoverableError('no order');
      },
    });
    await app.producer.publish(TOPIC, 1);
    expect(await app.events.dead.first()).toMatchObject({ attempt: 1, failure: { message: 'no order' } });
    expect(client.emitted).toEqual([]);
  });

  it('is not emitted any more if it was cancelled while the application shaped it', async () => {
    const shaped = new Subject<string>();
    const signals: AbortSignal[] = [];
    const { app, client } = await startForwarding({
      data: async ({ signal }) => {
        signals.push(signal);
        return firstValueFrom(shaped);
      },
    });
    await app.producer.publish(TOPIC, 1, { id: 'a' });
    await eventually(() => expect(signals).toHaveLength(1));
    expect(await app.producer.cancel(TOPIC, 'a')).toBe('in-flight');
    await eventually(() => expect(signals[0]?.aborted).toBe(true));
    shaped.next('too late');
    await app.events.cancelled.first();
    expect(client.emitted).toEqual([]);
  });

  it('leaves slots to other topics if its client answers no more', async () => {
    @Injectable()
    class Others {
      @DelayedHandler('other')
      work(): void {}
    }
    const { app, client } = await startForwarding(
      {},
      { providers: [Others], options: { consumer: { shutdownTimeout: 0 } } },
    );
    client.result = () => NEVER;
    await app.producer.publishMany(
      TOPIC,
      Array.from({ length: 150 }, (_, payload) => ({ payload })),
    );
    await eventually(() => expect(client.emitted).toHaveLength(20));
    await app.producer.publish('other', 1);
    expect(await app.events.acked.first()).toMatchObject({ topic: 'other' });
    expect(client.emitted).toHaveLength(20);
  });

  it('has failed if the client answers with no Observable', async () => {
    const { app, client } = await startForwarding({}, { topic: { attempts: 1 } });
    client.result = () => undefined;
    await app.producer.publish(TOPIC, 1);
    const { failure } = await app.events.dead.first();
    expect(failure.message).toBe(
      'emit() of the client must return an Observable, as that of a ClientProxy does. Returned: undefined.',
    );
  });

  it('is given up by this process when the time of its topic is up, and when it is cancelled', async () => {
    const { app, client } = await startForwarding({}, { topic: { attempts: 1, timeout: '100ms' } });
    let unsubscribed = 0;
    client.result = () => new Observable(() => () => unsubscribed++);
    await app.producer.publish(TOPIC, 1, { id: 'a' });
    expect((await app.events.dead.first()).failure).toMatchObject({ name: 'HandlerTimeoutError' });
    expect(unsubscribed).toBe(1);
    await app.producer.publish(TOPIC, 1, { id: 'b', timeout: '1h' });
    await eventually(() => expect(client.emitted).toHaveLength(2));
    expect(await app.producer.cancel(TOPIC, 'b')).toBe('in-flight');
    await eventually(() => expect(unsubscribed).toBe(2));
    await eventually(async () => expect(await app.get(DelayQueueAdmin).get(TOPIC, 'b')).toBeUndefined());
  });

  it('goes no further than so many at once', async () => {
    const { app, client } = await startForwarding(
      { concurrency: 3 },
      { options: { consumer: { shutdownTimeout: 0 } } },
    );
    client.result = () => NEVER;
    await app.producer.publishMany(
      TOPIC,
      Array.from({ length: 10 }, (_, payload) => ({ payload })),
    );
    await eventually(() => expect(client.emitted).toHaveLength(3));
    await app.producer.publish(TOPIC, 'later');
    expect((await app.get(DelayQueueAdmin).stats(TOPIC)).inFlight).toBe(3);
  });
});

describe('the client', () => {
  const BILLING = Symbol('BILLING');

  it.each([
    ['a name', 'BILLING'],
    ['a symbol', BILLING],
    ['a class', RecordingClient],
  ])('is found in the application by %s, in whichever module', async (_, token) => {
    const client = new RecordingClient();
    @Module({ providers: [{ provide: token, useValue: client }] })
    class BillingModule {}
    const { app } = await startForwarding({ client: token }, { imports: [BillingModule] });
    await app.producer.publish(TOPIC, 1);
    await app.events.acked.first();
    expect(client.emitted).toEqual([{ pattern: 'order.expired', data: 1 }]);
  });

  it.each([
    ['nothing provides it', [], 'nothing in the application provides it'],
    ['it is something else', [{ provide: 'BILLING', useValue: {} }], 'it has no function emit()'],
  ])('is missed at boot if %s', async (_, providers, says) => {
    const topics = { [TOPIC]: { forward: { client: 'BILLING', pattern: 'order.expired' } } };
    const error = await bed.failingBoot({ options: { topics }, providers });
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error.message).toBe(
      `topics['${TOPIC}'].forward.client is 'BILLING', but ${says}. Register it with ClientsModule.register([{ name, transport, ` +
        'options }]), or give a ClientProxy.',
    );
  });
});

describe('the client under a token', () => {
  const bootError = async (providers: Provider[], imports: (typeof BillingModule)[] = []): Promise<Error> => {
    const topics = { [TOPIC]: { partitions: 1, forward: { client: RecordingClient, pattern: 'order.expired' } } };
    return bed.failingBoot({ options: { topics }, providers, imports });
  };

  @Module({ providers: [RecordingClient] })
  class BillingModule {}

  it.each([
    ['request-scoped', Scope.REQUEST],
    ['transient', Scope.TRANSIENT],
  ])('is refused at boot if it is %s, since it would be an object that was never constructed', async (_, scope) => {
    const error = await bootError([{ provide: RecordingClient, useClass: RecordingClient, scope }]);
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error.message).toBe(
      `topics['${TOPIC}'].forward.client is RecordingClient, but it, or something it depends on, is request-scoped or transient, and ` +
        'there is no request to make it for. Provide it with the default scope, or give a ClientProxy.',
    );
  });

  it('is refused at boot if modules provide different ones, and found if they provide the same', async () => {
    const error = await bootError([RecordingClient], [BillingModule]);
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error.message).toContain('but several modules provide it, each another instance. Register it in one module');

    const client = new RecordingClient();
    const shared = { provide: 'BILLING', useValue: client };
    @Module({ providers: [shared] })
    class SharingModule {}
    const { app } = await startForwarding({ client: 'BILLING' }, { imports: [SharingModule], providers: [shared] });
    await app.producer.publish(TOPIC, 1);
    await app.events.acked.first();
    expect(client.emitted).toHaveLength(1);
  });
});

describe('a topic that is forwarded', () => {
  it('has no method that handles it as well, and is not received from', async () => {
    @Injectable()
    class Orders {
      @DelayedHandler(TOPIC)
      work(): void {}
    }
    const forward = { client: new RecordingClient(), pattern: 'order.expired' };
    const error = await bed.failingBoot({
      options: { topics: { [TOPIC]: { partitions: 1, forward } } },
      providers: [Orders],
    });
    expect(error.message).toContain(`Topic '${TOPIC}' has topics['${TOPIC}'].forward, and Orders.work handles it`);
    const { app } = await startForwarding();
    await expect(app.get(DelayQueueReceiver).receive(TOPIC)).rejects.toThrow('is pushed or forwarded by it');
  });
});
