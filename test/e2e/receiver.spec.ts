import { type BeforeApplicationShutdown, Injectable, type OnModuleInit } from '@nestjs/common';
import {
  BrokerUnavailableError,
  ConfigurationError,
  DelayQueueEvents,
  DelayQueueModule,
  DelayQueueReceiver,
  InjectDelayQueueReceiver,
  InvalidArgumentError,
  type ReceivedMessage,
  ReceiverUnavailableError,
} from 'nestjs-delay-queue';
import { DelayQueueHarness } from 'nestjs-delay-queue/testing';
import { describe, expect, it, vi } from 'vitest';
import { onOwnRedis, useBed } from '../support/app/bed.js';
import { Jobs } from '../support/kit/jobs.js';
import { useKitBed } from '../support/kit/kit-bed.js';
import { ReceivingProcess, TOPIC, idsOf } from '../support/kit/receiving-process.js';
import { eventually } from '../support/waiting.js';

describe('those who wait', () => {
  useKitBed();

  it('are served first come, first served, each with what is due in the same turn', async () => {
    const { harness, process } = await ReceivingProcess.alone({ partitions: 1 });
    const calls = [process.receive({ wait: '1m', max: 2 }), process.receive({ wait: '1m', max: 2 })];
    const messages = ['a', 'b', 'c'].map((id) => ({ payload: 1, options: { id, delay: '1s' } }));
    await process.producer.publishMany(TOPIC, messages);
    await harness.advance('1s');

    expect((await Promise.all(calls)).map(idsOf)).toEqual([['a', 'b'], ['c']]);
  });

  it('get nothing if nothing is due in time, and nothing is lost that comes later', async () => {
    const { harness, process } = await ReceivingProcess.alone();
    const waiting = process.receive({ wait: '1s' });
    await harness.advance('1s');
    expect(await waiting).toEqual([]);
    await process.publish('a');
    expect(await process.inFlight()).toBe(0);
    expect(idsOf(await process.receive())).toEqual(['a']);
  });

  it('can give up', async () => {
    const { harness, process } = await ReceivingProcess.alone();
    const [before, meanwhile] = [new AbortController(), new AbortController()];
    before.abort(new Error('never mind'));
    await expect(process.receive({ wait: '1m', signal: before.signal })).rejects.toThrow('never mind');
    // Node takes eleven listeners for a leak.
    const listening = vi.spyOn(meanwhile.signal, 'addEventListener');
    const waiting = Array.from({ length: 12 }, () => process.receive({ wait: '1m', signal: meanwhile.signal }));
    const ended = Promise.allSettled(waiting);
    await harness.advance(20);
    meanwhile.abort(new Error('gone'));
    expect(await ended).toEqual(waiting.map(() => ({ status: 'rejected', reason: new Error('gone') })));
    expect(listening).toHaveBeenCalledTimes(1);
    await process.publish('a');

    expect(await process.receiveOne()).toMatchObject({ id: 'a', attempt: 1 });
  });

  it('get nothing that comes when they have just given up, which comes again at once', async () => {
    const { process } = await ReceivingProcess.alone();
    const { delivered } = process.module.get(DelayQueueEvents);
    for (const abort of [(end: () => void) => end(), queueMicrotask]) {
      const givingUp = new AbortController();
      const waiting = process.receive({ wait: '1m', signal: givingUp.signal });
      const listening = delivered.subscribe(() => abort(() => givingUp.abort(new Error('gone'))));
      await process.publish('a');
      await expect(waiting).rejects.toThrow('gone');
      listening.unsubscribe();
      const message = await process.receiveOne({ wait: '1m' });
      expect(message).toMatchObject({ id: 'a', attempt: 1 });
      await message.ack();
    }
  });

  it('are answered when the process shuts down, which receives nothing more', async () => {
    const { harness, process } = await ReceivingProcess.alone();
    await process.publish('a');
    const { receipt } = await process.receiveOne();
    const waiting = process.receive({ wait: '1h' });
    await process.module.close();

    expect(await waiting).toEqual([]);
    await expect(process.receive()).rejects.toThrow(ReceiverUnavailableError);
    await expect(process.receiver.settle(receipt, 'ack')).rejects.toThrow(ReceiverUnavailableError);
    const other = await ReceivingProcess.start(harness);
    expect(await other.receiver.settle(receipt, 'ack')).toBe('settled');
  });

  it('are answered before the hooks of a shutdown end, which can still settle what they have', async () => {
    const ends: unknown[] = [];
    @Injectable()
    class Worker implements BeforeApplicationShutdown {
      job: ReceivedMessage | undefined;
      waiting: Promise<unknown> | undefined;

      async beforeApplicationShutdown(): Promise<void> {
        ends.push(await this.waiting, await this.job?.ack());
      }
    }
    const process = await ReceivingProcess.start(new DelayQueueHarness(), {}, { providers: [Worker] });
    const worker = process.module.get(Worker);
    await process.publish('a');
    worker.job = await process.receiveOne();
    worker.waiting = process.receive({ wait: '1h' });
    await process.module.close();

    expect(ends).toEqual([[], 'settled']);
  });

  it('keep partitions only while they wait, and for 5 s after', async () => {
    const harness = new DelayQueueHarness();
    const [a, b] = [await ReceivingProcess.start(harness), await ReceivingProcess.start(harness)];
    const owners = async (): Promise<number[]> => {
      const { partitions } = await a.admin.stats(TOPIC);
      const owned = partitions.flatMap(({ owner }) => owner ?? []);
      return [new Set(owned).size, partitions.length - owned.length];
    };
    const waiting = a.receive({ wait: '20s', max: 8 });
    await b.receive();
    expect(await owners()).toEqual([2, 0]);
    await harness.advance('10s');
    // The other one has not received since.
    expect(await owners()).toEqual([1, 0]);
    await b.producer.publishMany(
      TOPIC,
      Array.from({ length: 8 }, (_, payload) => ({ payload, options: { delay: '1s' } })),
    );
    await harness.advance('1s');
    expect(await waiting).toHaveLength(8);
    await harness.advance('4s');
    expect(await owners()).toEqual([1, 0]);
    await harness.advance('2s');
    expect(await owners()).toEqual([0, 4]);
  });
});

describe('a receiver', () => {
  useKitBed();

  it('is refused where it cannot be, with the reason', async () => {
    const harness = new DelayQueueHarness();
    const { receiver } = await ReceivingProcess.start(harness, {}, { providers: [Jobs] });
    const { receiver: publishing } = await ReceivingProcess.start(harness, {}, { consumer: false });
    await expect(receiver.receive('jobs')).rejects.toThrow(InvalidArgumentError);
    await expect(receiver.receive('jobs')).rejects.toThrow(
      "Topic 'jobs' is handled, pushed or forwarded by this process",
    );
    await expect(publishing.receive(TOPIC)).rejects.toThrow(ConfigurationError);
    await expect(publishing.settle('abc', 'ack')).rejects.toThrow('this process only publishes');
    for (const options of [{ max: 0 }, { max: 201 }, { wait: -1 }, { lease: 500 }, { lease: 'soon' }, { waits: 5 }]) {
      await expect(receiver.receive(TOPIC, options)).rejects.toThrow(InvalidArgumentError);
    }
    await expect(receiver.receive('{images}')).rejects.toThrow(InvalidArgumentError);
  });
});

describe('on Redis, a receiver', () => {
  const bed = useBed();

  it('gives each message once, whoever asks', async () => {
    const app = await bed.start();
    const receiver = app.get(DelayQueueReceiver);
    const payloads = Array.from({ length: 150 }, (_, payload) => ({ payload }));
    await app.producer.publishMany(TOPIC, payloads);
    const received: number[] = [];
    const receive = async (): Promise<void> => {
      while (received.length < 150) {
        const messages = await receiver.receive<number>(TOPIC, { max: 20, wait: 50 });
        received.push(...messages.map(({ payload }) => payload));
        for (const message of messages) expect(await message.ack()).toBe('settled');
      }
    };
    await Promise.all([receive(), receive(), receive()]);

    expect(received.toSorted((a, b) => a - b)).toEqual(payloads.map(({ payload }) => payload));
  });

  it('finds at once what is due, also in many topics right after the boot', async () => {
    const names = Array.from({ length: 16 }, (_, i) => `jobs.${i}`);
    const topics = Object.fromEntries(names.map((name) => [name, { partitions: 8 }]));
    const app = await bed.start({ options: { topics } });
    for (const name of names) await app.producer.publish(name, 1, { id: name });
    const receiver = app.get(DelayQueueReceiver);
    const received = await Promise.all(names.map(async (name) => receiver.receive(name)));
    expect(received.map(idsOf)).toEqual(names.map((name) => [name]));
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

  it('says that Redis is away instead of that there is nothing, and an outcome takes effect once it is back', async () => {
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
        await expect(message?.retry('later', '1h')).rejects.toThrow('may take effect yet');
        await server.start();

        await eventually(async () => expect(await own.partition(TOPIC, message?.partition).scheduled()).toEqual(['a']));
      },
      ['--appendonly', 'yes', '--appendfsync', 'always'],
    );
  });
});
