import { Injectable } from '@nestjs/common';
import {
  ConfigurationError,
  type ConsumerOptions,
  type DelayedMessage,
  DelayedHandler,
  DelayQueueConsumers,
  DelayQueueHealth,
  IntakeOvertakenError,
  InvalidArgumentError,
} from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { type RunningApp, useBed } from '../support/app/bed.js';
import { Recorder } from '../support/app/recorder.js';
import { Gate, abortOf, eventually } from '../support/waiting.js';

const TOPIC = 'jobs';
const OTHER = 'mails';
const PARTITIONS = 4;

@Injectable()
class Jobs extends Recorder<number> {
  @DelayedHandler(TOPIC)
  async work(payload: number, message: DelayedMessage<number>) {
    return this.take(payload, message);
  }

  @DelayedHandler(OTHER)
  async send(payload: number, message: DelayedMessage<number>) {
    return this.take(payload, message);
  }
}

interface Worker {
  readonly app: RunningApp;
  readonly jobs: Jobs;
  readonly consumers: DelayQueueConsumers;
}

const bed = useBed();

async function start(consumer: ConsumerOptions = {}): Promise<Worker> {
  const app = await bed.start({ providers: [Jobs], options: { defaults: { partitions: PARTITIONS }, consumer } });
  return { app, jobs: app.get(Jobs), consumers: app.get(DelayQueueConsumers) };
}

/** How many processes own partitions of a topic, and how many partitions are owned. */
async function ownership(topic: string): Promise<[processes: number, partitions: number]> {
  const partitions = Array.from({ length: PARTITIONS }, (_, i) => bed.partition(topic, i));
  const owners = (await Promise.all(partitions.map(async (partition) => partition.owner()))).filter(Boolean);
  return [new Set(owners).size, owners.length];
}

/** Publishes messages that are due at once, one for each partition at least. */
async function publish({ app }: Worker, topic: string, count = 4 * PARTITIONS): Promise<void> {
  await app.producer.publishMany(
    topic,
    Array.from({ length: count }, (_, payload) => ({ payload })),
  );
}

describe('a process that stops its intake of a topic', () => {
  it('leaves the topic to the others, and takes its share again when it is started', async () => {
    const [first, second] = [await start(), await start()];
    await eventually(async () => expect(await ownership(TOPIC)).toEqual([2, PARTITIONS]));

    await first.consumers.stop(TOPIC);
    expect(first.consumers.running).toEqual([OTHER]);
    await publish(first, TOPIC);
    await second.jobs.called(4 * PARTITIONS);
    expect(first.jobs.calls).toEqual([]);
    await eventually(async () => expect(await ownership(OTHER)).toEqual([2, PARTITIONS]));
    expect((await first.app.get(DelayQueueHealth).check()).topics).toMatchObject([
      { topic: TOPIC, stopped: true },
      { topic: OTHER, stopped: false },
    ]);

    await first.consumers.start(TOPIC);
    await eventually(async () => expect(await ownership(TOPIC)).toEqual([2, PARTITIONS]));
    expect(first.consumers.running).toEqual([TOPIC, OTHER]);
  });

  it('waits for the handlers that run, and gives back the messages of those that take too long', async () => {
    const first = await start({ shutdownTimeout: 500 });
    const finish = new Gate();
    first.jobs.respond = async (payload, { signal }) => {
      if (payload === 0) return finish.opened;
      throw await abortOf(signal);
    };
    await publish(first, TOPIC, 2);
    await first.jobs.called(2);
    const second = await start();

    const stopping = first.consumers.stop(TOPIC);
    finish.open();
    await stopping;

    expect(first.app.events.acked.past).toHaveLength(1);
    const [again] = await second.jobs.called(1);
    // What was given back has spent no attempt.
    expect(again).toMatchObject({ payload: 1, message: { attempt: 1 } });
    const aborted = first.jobs.calls.filter(({ message }) => message.signal.aborted);
    expect(aborted).toMatchObject([{ payload: 1, message: { signal: { reason: { code: 'SHUTDOWN' } } } }]);
  });

  it('keeps what waits, if there is nobody else', async () => {
    const worker = await start();
    await worker.consumers.stop();
    await publish(worker, TOPIC);
    expect(await ownership(TOPIC)).toEqual([0, 0]);

    await worker.consumers.start(TOPIC);
    await worker.jobs.called(4 * PARTITIONS);
    expect(worker.consumers.running).toEqual([TOPIC]);
  });

  it('tells whoever waits for a start that is overtaken', async () => {
    const worker = await start({ autoStart: false });
    const starting = worker.consumers.start(TOPIC);
    const stopping = worker.consumers.stop(TOPIC);

    await expect(starting).rejects.toBeInstanceOf(IntakeOvertakenError);
    await stopping;
    expect(worker.consumers.running).toEqual([]);
  });

  it('shuts down while it stops', async () => {
    const worker = await start({ shutdownTimeout: 500 });
    worker.jobs.respond = async (_payload, { signal }) => {
      throw await abortOf(signal);
    };
    await publish(worker, TOPIC, 1);
    await worker.jobs.called(1);

    const stopping = worker.consumers.stop();
    await worker.app.close();
    await stopping;
    await expect(worker.consumers.start()).rejects.toMatchObject({ code: 'INTAKE_OVERTAKEN', overtakenBy: 'shutdown' });
  });
});

it('with autoStart: false, a process publishes, but handles nothing before it is told to', async () => {
  const worker = await start({ autoStart: false });
  await publish(worker, TOPIC);
  expect([worker.consumers.running, await ownership(TOPIC)]).toEqual([[], [0, 0]]);

  await worker.consumers.start();
  await worker.jobs.called(4 * PARTITIONS);
  expect(worker.consumers.running).toEqual([TOPIC, OTHER]);
});

it('a topic that has no handler here is refused, with the one that was meant', async () => {
  const { consumers } = await start();

  await expect(consumers.start('job')).rejects.toThrow("Did you mean 'jobs'?");
  await expect(consumers.stop('job')).rejects.toBeInstanceOf(InvalidArgumentError);
});

it('a process that only publishes has no intake to start', async () => {
  const app = await bed.start({ options: { consumer: false } });
  const consumers = app.get(DelayQueueConsumers);

  expect(consumers.running).toEqual([]);
  await consumers.stop();
  await expect(consumers.start()).rejects.toBeInstanceOf(ConfigurationError);
});
