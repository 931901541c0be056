import { Test } from '@nestjs/testing';
import { DelayQueueAdmin, DelayQueueProducer, type TopicOptions } from 'nestjs-delay-queue';
import { DelayQueueHarness, DelayQueueTestingModule } from 'nestjs-delay-queue/testing';
import { of, throwError } from 'rxjs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SECRET } from '../../support/app/pushing.js';
import { start, useKitBed } from '../../support/kit/kit-bed.js';
import { PushReceiver } from '../../support/servers/push-receiver.js';

useKitBed();

async function pushedTo(topic: TopicOptions = {}) {
  const receiver = await PushReceiver.start();
  onTestFinished(async () => receiver.stop());
  const push = { url: receiver.url, secret: SECRET, allowPrivate: true };
  return { receiver, topics: { paid: { ...topic, push } } };
}

describe('on the testing kit', () => {
  it('a topic is pushed when the test moves the time, with retries and put-offs', async () => {
    const { receiver, topics } = await pushedTo({ backoff: { type: 'fixed', delay: '1m' } });
    receiver.answer = (response, _, n) => {
      if (n === 1) response.writeHead(500).end();
      else if (n === 2) response.writeHead(429, { 'retry-after': '1800' }).end();
      else response.writeHead(200).end();
    };
    const { harness, producer, tape } = await start({ options: { topics } });
    const acked = tape('acked');
    await producer.publish('paid', { order: 42 }, { delay: '30m' });
    await harness.advance('29m');
    expect(receiver.requests).toHaveLength(0);
    await harness.advance('1m');
    expect(receiver.requests).toHaveLength(1);
    await harness.advance('1m');
    expect(receiver.requests).toHaveLength(2);
    await harness.advance('29m');
    expect(receiver.requests).toHaveLength(2);
    await harness.advance('1m');
    expect(receiver.requests.map(({ body }) => body)).toEqual(Array.from({ length: 3 }, () => '{"order":42}'));
    expect(acked).toMatchObject([{ attempt: 2 }]);
  });

  it('a topic is forwarded to whatever the test provides in the place of the client', async () => {
    const emitted: unknown[][] = [];
    const client = {
      emit: (...args: unknown[]) => {
        emitted.push(args);
        return emitted.length === 1 ? throwError(() => new Error('not connected')) : of(undefined);
      },
    };
    const module = await Test.createTestingModule({
      imports: [
        DelayQueueTestingModule.forRoot({
          topics: { paid: { forward: { client: 'BILLING', pattern: 'order.paid' } } },
        }),
      ],
      providers: [{ provide: 'BILLING', useValue: client }],
    }).compile();
    await module.init();
    onTestFinished(async () => module.close());
    const harness = module.get(DelayQueueHarness);
    await module.get(DelayQueueProducer).publish('paid', { order: 42 }, { delay: '30m' });
    await harness.advance('1h');
    expect(emitted).toEqual(Array.from({ length: 2 }, () => ['order.paid', { order: 42 }]));
    expect(await module.get(DelayQueueAdmin).stats('paid')).toMatchObject({ scheduled: 0, dead: 0 });
  });

  it('a process that only publishes pushes nothing, and says so', async () => {
    const { receiver, topics } = await pushedTo();
    const { harness, producer, logs } = await start({ options: { topics, consumer: false } });
    await producer.publish('paid', 1);
    await harness.advance('1m');
    expect(logs.warnings.join()).toContain(
      "Its option 'push' means nothing in this process, which with 'consumer: false' only publishes: start a process that consumes, " +
        'with the same option.',
    );
    expect(receiver.requests).toEqual([]);
  });
});
