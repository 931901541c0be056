import { setTimeout as sleep } from 'node:timers/promises';
import { Controller, type DynamicModule, Injectable, type Provider, Scope } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ClientsModule, EventPattern, type MicroserviceOptions, Payload, Transport } from '@nestjs/microservices';
import { ConfigurationError, DelayedHandler, DelayQueueProducer, type ForwardOptions } from 'nestjs-delay-queue';
import { DelayQueueHarness, DelayQueueTestingModule } from 'nestjs-delay-queue/testing';
import { type Observable, defer } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { LogBook } from '../support/app/log-book.js';
import { useBed } from '../support/app/bed.js';
import { type Setup, boot, start, useKitBed } from '../support/kit/kit-bed.js';
import { Gate } from '../support/waiting.js';

const TOPIC = 'order.timeout';

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

function forwarding(client: ForwardOptions['client'], pattern: ForwardOptions['pattern'] = 'timeout') {
  const backoff = { type: 'fixed', delay: '1m' } as const;
  return { topics: { [TOPIC]: { attempts: 2, backoff, forward: { client, pattern } } } };
}

describe('on Redis', () => {
  const bed = useBed();

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
        options: forwarding('ORDERS', { event: bed.prefix }),
      });
      await app.producer.publish(TOPIC, { order: 42 });
      await app.events.acked.first();
      await expect.poll(() => handled).toEqual([{ order: 42 }]);
      expect(app.logs.lines.join('\n')).toContain(`forward to ORDERS handles topic '${TOPIC}'`);
    } finally {
      await service.close();
    }
  });
});

function providing(provider: Provider): DynamicModule {
  return { module: ClientsModule, providers: [provider], exports: ['OWN'] };
}

async function failingBoot(client: ForwardOptions['client'], setup: Setup): Promise<Error> {
  const error: unknown = await start({ options: forwarding(client), ...setup }).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ConfigurationError);
  return error as Error;
}

describe('a topic that is forwarded', () => {
  useKitBed();

  it('sends when it is due; what the client cannot send comes again, and is dead after the last attempt', async () => {
    const client = new OwnClient();
    client.dispatch = (data) => {
      if (data === 'bad' || client.log.length === 1) throw new Error('the broker is away');
    };
    const { harness, producer, tape } = await start({ options: forwarding(client) });
    const acked = tape('acked');
    await producer.publish(TOPIC, 'good', { delay: '30m' });
    await harness.advance('29m');
    expect(client.log).toEqual([]);
    await harness.advance('1m');
    expect(client.log).toEqual(['good']);
    await harness.advance('1m');
    expect(acked).toMatchObject([{ attempt: 2 }]);
    await producer.publish(TOPIC, 'bad');
    await harness.advance('1m');

    const message = 'The forward to OwnClient has failed: the broker is away';
    expect(harness.deadLetters(TOPIC)).toMatchObject([
      { attempts: 2, failure: { reason: 'failed', code: 'FORWARD_FAILED', message } },
    ]);
  });

  it('is waited for when the application closes, and its client is closed after that', async () => {
    const client = new OwnClient();
    const [begun, confirmed] = [new Gate(), new Gate()];
    client.dispatch = () => {
      begun.open();
      return confirmed.opened.then(() => client.log.push('confirmed'));
    };
    const providers = [{ provide: OwnClient, useValue: client }];
    const { app, producer, tape } = await start({ options: forwarding(OwnClient), providers });
    const acked = tape('acked');
    await producer.publish(TOPIC, 1);
    await begun.opened;
    const closing = app.close();
    // Far longer than closing takes without waiting.
    await sleep(50);
    expect(client.log).toEqual([1]);
    confirmed.open();
    await closing;
    expect(client.log).toEqual([1, 'confirmed', 'closed']);
    expect(acked).toHaveLength(1);
  });

  it('goes through the client of a factory', async () => {
    const client = new OwnClient();
    const queue = DelayQueueTestingModule.forRootAsync({
      imports: [providing({ provide: 'OWN', useValue: client })],
      inject: ['OWN'],
      useFactory: (own: OwnClient) => forwarding(own),
    });
    const { module } = await boot({ imports: [queue] });
    await module.get(DelayQueueProducer).publish(TOPIC, 1);
    await module.get(DelayQueueHarness).settle();
    expect(client.log).toEqual([1]);
  });

  it('is not forwarded by a process that only publishes, which says so', async () => {
    const client = new OwnClient();
    const { harness, producer, logs } = await start({ options: { ...forwarding(client), consumer: false } });
    await producer.publish(TOPIC, 1);
    await harness.advance('1m');
    expect(logs.warnings.join()).toContain("Its option 'forward' means nothing in this process");
    expect(client.log).toEqual([]);
  });

  const own = { provide: 'OWN', useFactory: () => new OwnClient() };

  it.each<[string, DynamicModule[], string]>([
    ['that nobody provides', [], 'the application provides no single instance'],
    ['that two modules provide', [providing(own), providing({ ...own })], 'several modules provide one each'],
    ['of each request', [providing({ ...own, scope: Scope.REQUEST })], 'the application provides no single instance'],
    ['of each user', [providing({ ...own, scope: Scope.TRANSIENT })], 'the application provides no single instance'],
  ])('fails the boot with a client %s', async (_, imports, says) => {
    const error = await failingBoot('OWN', { imports });
    expect(error.message).toContain(`topics['${TOPIC}'].forward.client is 'OWN', and ${says}`);
  });

  it('fails the boot if a method handles it as well', async () => {
    @Injectable()
    class Orders {
      @DelayedHandler(TOPIC)
      work(): void {}
    }
    const error = await failingBoot(new OwnClient(), { providers: [Orders] });
    expect(error.message).toContain(
      `Topic '${TOPIC}' has topics['${TOPIC}'].forward, and Orders.work handles it as well`,
    );
  });
});
