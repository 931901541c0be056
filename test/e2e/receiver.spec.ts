import { type BeforeApplicationShutdown, Injectable, type OnModuleInit } from '@nestjs/common';
import {
  BrokerUnavailableError,
  ConfigurationError,
  DelayQueueModule,
  DelayQueueReceiver,
  InjectDelayQueueReceiver,
  InvalidArgumentError,
  type ReceivedMessage,
  ReceiverUnavailableError,
} from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { onOwnRedis, useBed } from '../support/app/bed.js';
import { Jobs } from '../support/app/jobs.js';
import { eventually } from '../support/waiting.js';

const TOPIC = 'images';

const bed = useBed();

describe('receiving', () => {
  it('waits for what falls due, and settles it for the whole fleet', async () => {
    const [a, b] = [await bed.start(), await bed.start()];
    const waiting = a.get(DelayQueueReceiver).receive(TOPIC, { wait: '1m' });
    await b.producer.publish(TOPIC, 'small', { id: 'a', delay: 50 });
    const [message] = await waiting;
    expect(message).toMatchObject({ id: 'a', payload: 'small', attempt: 1 });
    expect(Date.now()).toBeGreaterThanOrEqual(message?.dueAt.getTime() ?? Infinity);

    const receiver = b.get(DelayQueueReceiver);
    expect(await receiver.settle(message?.receipt ?? '', { outcome: 'retry', delay: 20 })).toBe('settled');
    expect(await message?.ack()).toBe('stale');
    const [again] = await receiver.receive(TOPIC, { wait: '1m' });
    expect(again).toMatchObject({ id: 'a', attempt: 2 });
    expect(await again?.ack()).toBe('settled');
    expect(a.logs.errors).toEqual([]);
  });

  it('gives each message once, whoever asks', async () => {
    const app = await bed.start();
    const receiver = app.get(DelayQueueReceiver);
    await app.producer.publishMany(
      TOPIC,
      Array.from({ length: 150 }, (_, payload) => ({ payload })),
    );
    const received: number[] = [];
    const receive = async (): Promise<void> => {
      while (received.length < 150) {
        const messages = await receiver.receive<number>(TOPIC, { max: 20, wait: 50 });
        received.push(...messages.map(({ payload }) => payload));
        for (const message of messages) expect(await message.ack()).toBe('settled');
      }
    };
    await Promise.all([receive(), receive(), receive()]);

    expect(received.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 150 }, (_, payload) => payload));
  });

  it('finds at once what is due, also in many topics right after the boot', async () => {
    const names = Array.from({ length: 16 }, (_, i) => `jobs.${i}`);
    const topics = Object.fromEntries(names.map((name) => [name, { partitions: 8 }]));
    const app = await bed.start({ options: { topics } });
    for (const name of names) await app.producer.publish(name, 1, { id: name });
    const receiver = app.get(DelayQueueReceiver);
    const received = await Promise.all(names.map(async (name) => receiver.receive(name)));
    expect(received.map((messages) => messages.map(({ id }) => id))).toEqual(names.map((name) => [name]));
  });

  it('is refused where it cannot be, with the reason', async () => {
    const [handling, publishing] = [
      await bed.start({ providers: [Jobs] }),
      await bed.start({ options: { consumer: false } }),
    ];
    const receiver = handling.get(DelayQueueReceiver);
    await expect(receiver.receive('jobs')).rejects.toThrow(InvalidArgumentError);
    await expect(receiver.receive('jobs')).rejects.toThrow(
      "Topic 'jobs' is handled, pushed or forwarded by this process",
    );
    await expect(publishing.get(DelayQueueReceiver).receive(TOPIC)).rejects.toThrow(ConfigurationError);
    await expect(publishing.get(DelayQueueReceiver).settle('abc', 'ack')).rejects.toThrow(
      'this process only publishes',
    );
    for (const options of [{ max: 0 }, { max: 201 }, { wait: -1 }, { lease: 500 }, { lease: 'soon' }, { waits: 5 }]) {
      await expect(receiver.receive(TOPIC, options)).rejects.toThrow(InvalidArgumentError);
    }
    await expect(receiver.receive('{images}')).rejects.toThrow(InvalidArgumentError);
  });

  it('does not begin before the application has bootstrapped', async () => {
    const early: unknown[] = [];
    @Injectable()
    class Early implements OnModuleInit {
      constructor(private readonly receiver: DelayQueueReceiver) {}

      async onModuleInit(): Promise<void> {
        early.push(await this.receiver.receive(TOPIC).catch((error: unknown) => error));
      }
    }
    await bed.start({ providers: [Early], options: { publishTimeout: 50 } });

    expect(early).toEqual([expect.any(ReceiverUnavailableError)]);
    expect(String(early[0])).toContain('has not bootstrapped yet');
  });

  it('belongs to a connection', async () => {
    @Injectable()
    class Worker {
      constructor(@InjectDelayQueueReceiver('other') readonly receiver: DelayQueueReceiver) {}
    }
    const imports = [DelayQueueModule.forRoot({ ...bed.options(), name: 'other', prefix: `${bed.prefix}-other` })];
    const app = await bed.start({ imports, providers: [Worker] });
    await app.producer.publish(TOPIC, 1);

    expect(await app.get(Worker).receiver.receive(TOPIC)).toEqual([]);
    expect(await app.get(DelayQueueReceiver).receive(TOPIC)).toHaveLength(1);
  });
});

describe('a shutdown', () => {
  it('answers who waits, and lets them settle what they have', async () => {
    const ends: unknown[] = [];
    @Injectable()
    class Worker implements BeforeApplicationShutdown {
      job: ReceivedMessage | undefined;
      waiting: Promise<unknown> | undefined;

      constructor(private readonly receiver: DelayQueueReceiver) {}

      async begin(): Promise<void> {
        [this.job] = await this.receiver.receive(TOPIC, { wait: '1m' });
        this.waiting = this.receiver.receive(TOPIC, { wait: '1h' });
      }

      async beforeApplicationShutdown(): Promise<void> {
        ends.push(await this.waiting, await this.job?.ack());
      }
    }
    const app = await bed.start({ providers: [Worker] });
    await app.producer.publish(TOPIC, 1);
    await app.get(Worker).begin();
    await app.close();

    expect(ends).toEqual([[], 'settled']);
  });
});

describe('while Redis is away', () => {
  it('says so instead of that there is nothing, and an outcome takes effect once Redis is back', async () => {
    await onOwnRedis(
      async (own, server) => {
        const app = await own.start({ options: { publishTimeout: 300 } });
        const receiver = app.get(DelayQueueReceiver);
        await app.producer.publish(TOPIC, 1, { id: 'a' });
        const [message] = await receiver.receive(TOPIC, { lease: '1h' });
        await server.kill();
        await eventually(async () => {
          await expect(receiver.receive(TOPIC, { wait: 50 })).rejects.toThrow(BrokerUnavailableError);
        });
        const settling = message?.retry('later', '1h');
        await expect(settling).rejects.toThrow('may take effect yet');
        await server.start();

        await eventually(async () => expect(await own.partition(TOPIC, message?.partition).scheduled()).toEqual(['a']));
      },
      ['--appendonly', 'yes', '--appendfsync', 'always'],
    );
  });
});
