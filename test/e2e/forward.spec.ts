import { Controller, type DynamicModule, Injectable, type Provider, Scope } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ClientsModule, EventPattern, type MicroserviceOptions, Payload, Transport } from '@nestjs/microservices';
import {
  ConfigurationError,
  DelayedHandler,
  DelayQueueModule,
  type ForwardOptions,
  type TopicOptions,
} from 'nestjs-delay-queue';
import { type Observable, defer } from 'rxjs';
import { expect, it } from 'vitest';
import { LogBook } from '../support/app/log-book.js';
import { useBed } from '../support/app/bed.js';
import { Gate } from '../support/waiting.js';

const bed = useBed();

const TOPIC = 'order.timeout';
const backoff = { type: 'fixed', delay: 20 } as const;

/** All that is asked of a client, and what it was asked for. */
class OwnClient {
  readonly log: unknown[] = [];
  dispatch: (data: unknown) => unknown = () => {};

  emit(_pattern: unknown, data: unknown): Observable<unknown> {
    this.log.push(data);
    return defer(async () => this.dispatch(data));
  }

  onApplicationShutdown(): void {
    this.log.push('closed');
  }
}

function providing(provider: Provider): DynamicModule {
  return { module: ClientsModule, providers: [provider], exports: ['OWN'] };
}

function forwarding(forward: ForwardOptions, more: TopicOptions = {}) {
  return { topics: { [TOPIC]: { partitions: 1, backoff, ...more, forward } } };
}

it('a forwarded message is an event like any other to a service that knows nothing of the queue', async () => {
  const transport = { transport: Transport.REDIS as const, options: { ...bed.connection, retryAttempts: 0 } };
  const handled: unknown[] = [];

  @Controller()
  class Orders {
    @EventPattern({ event: bed.prefix })
    onTimeout(@Payload() order: unknown): void {
      handled.push(order);
    }
  }

  const service = await NestFactory.createMicroservice<MicroserviceOptions>(
    { module: ClientsModule, controllers: [Orders] },
    { ...transport, logger: new LogBook() },
  );
  try {
    await service.listen();
    const app = await bed.start({
      imports: [ClientsModule.register([{ name: 'ORDERS', ...transport }])],
      options: forwarding({ client: 'ORDERS', pattern: { event: bed.prefix } }),
    });
    await app.producer.publish(TOPIC, { order: 42 });
    await app.events.acked.first();
    await expect.poll(() => handled).toEqual([{ order: 42 }]);
    expect(app.logs.lines.join('\n')).toContain(`forward to ORDERS handles topic '${TOPIC}'`);
  } finally {
    await service.close();
  }
});

it('what the client cannot send comes again, and is a dead letter after the last attempt', async () => {
  const client = new OwnClient();
  client.dispatch = (data) => {
    if (data === 'bad' || client.log.length === 1) throw new Error('the broker is away');
  };
  const app = await bed.start({ options: forwarding({ client, pattern: 'timeout' }, { attempts: 2 }) });
  await app.producer.publish(TOPIC, 'good');
  expect(await app.events.acked.first()).toMatchObject({ attempt: 2 });
  await app.producer.publish(TOPIC, 'bad');
  expect(await app.events.dead.first()).toMatchObject({
    attempt: 2,
    failure: {
      reason: 'failed',
      code: 'FORWARD_FAILED',
      message: 'The forward to OwnClient has failed: the broker is away',
    },
  });
});

it('an event that is on its way when the application closes is waited for, and the client is closed after it', async () => {
  const client = new OwnClient();
  const [begun, confirmed] = [new Gate(), new Gate()];
  client.dispatch = () => {
    begun.open();
    return confirmed.opened.then(() => client.log.push('confirmed'));
  };
  const app = await bed.start({
    options: forwarding({ client: OwnClient, pattern: 'timeout' }),
    providers: [{ provide: OwnClient, useValue: client }],
  });
  await app.producer.publish(TOPIC, 1);
  await begun.opened;
  const closing = app.close();
  confirmed.open();
  await closing;
  expect(client.log).toEqual([1, 'confirmed', 'closed']);
  expect(app.events.acked.past).toHaveLength(1);
});

it('a client of a factory is used as it is', async () => {
  const client = new OwnClient();
  const clients = providing({ provide: 'OWN', useValue: client });
  const app = await bed.compileWith({
    imports: [
      DelayQueueModule.forRootAsync({
        imports: [clients],
        inject: ['OWN'],
        useFactory: (own: OwnClient) => bed.options(forwarding({ client: own, pattern: 'timeout' })),
      }),
    ],
  });
  await app.nest.init();
  await app.producer.publish(TOPIC, 1);
  await app.events.acked.first();
  expect(client.log).toEqual([1]);
});

const own = { provide: 'OWN', useFactory: () => new OwnClient() };

it.each<[string, DynamicModule[], string]>([
  ['that nobody provides', [], 'the application provides no single instance'],
  ['that two modules provide', [providing(own), providing({ ...own })], 'several modules provide one each'],
  ['of each request', [providing({ ...own, scope: Scope.REQUEST })], 'the application provides no single instance'],
  ['of each user', [providing({ ...own, scope: Scope.TRANSIENT })], 'the application provides no single instance'],
])('an application does not boot with a client %s', async (_, imports, says) => {
  const error = await bed.failingBoot({ imports, options: forwarding({ client: 'OWN', pattern: 'timeout' }) });
  expect(error).toBeInstanceOf(ConfigurationError);
  expect(error.message).toContain(`topics['${TOPIC}'].forward.client is 'OWN', and ${says}`);
});

it('a topic is forwarded or handled, and not both', async () => {
  @Injectable()
  class Orders {
    @DelayedHandler(TOPIC)
    work(): void {}
  }
  const options = forwarding({ client: new OwnClient(), pattern: 'timeout' });
  const error = await bed.failingBoot({ options, providers: [Orders] });
  expect(error).toBeInstanceOf(ConfigurationError);
  expect(error.message).toContain(
    `Topic '${TOPIC}' has topics['${TOPIC}'].forward, and Orders.work handles it as well`,
  );
});
