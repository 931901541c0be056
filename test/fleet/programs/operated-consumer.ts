import 'reflect-metadata';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, type LoggerService, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  type DeadLetter,
  DelayedHandler,
  type DelayedMessage,
  DelayQueueEvents,
  DelayQueueModule,
  DelayQueueProducer,
  OnDeadLetter,
  UnrecoverableError,
} from 'nestjs-delay-queue';
import {
  HELD,
  type Load,
  type NumberedRequest,
  type OperatedConfig,
  type OperatedReport,
  type Request,
  type Run,
  type SeenEvent,
  type Task,
  WORK,
} from '../operated-protocol.js';
import { Bustling } from './bustling.js';

const PUBLISHED_AT_ONCE = 10_000;

/** Many, so that pages begin amid messages with equal due times. */
const MESSAGES_AT_ONE_TIME = 100;

const { redisUrl, prefix, ...config } = JSON.parse(process.argv[2] ?? '{}') as OperatedConfig;

function report(message: OperatedReport): void {
  process.send?.(message);
}

/** Collects what happens in a turn of the event loop, and sends it together. */
function collector<T>(send: (items: readonly T[]) => void): (item: T) => void {
  let items: T[] = [];
  return (item) => {
    if (items.length === 0) {
      setImmediate(() => {
        send(items);
        items = [];
      });
    }
    items.push(item);
  };
}

const noteRun = collector<Run>((items) => report({ kind: 'runs', items }));
const noteAbort = collector<{ id: string; code: string }>((items) => report({ kind: 'aborts', items }));
const noteDeath = collector<string>((items) => report({ kind: 'deaths', items }));
const noteEvent = collector<SeenEvent>((items) => report({ kind: 'events', items }));

let healed = false;

function note({ does: _does, ...task }: Task, { id, partition, attempt }: DelayedMessage): void {
  noteRun({ id, partition, attempt, ...task, at: performance.timeOrigin + performance.now() });
}

@Injectable()
class Operated {
  @DelayedHandler(WORK, { concurrency: 100 })
  async work(task: Task, message: DelayedMessage): Promise<void> {
    note(task, message);
    if (healed) return;
    const { does, text } = task;
    if (does === 'take-a-while') await sleep(200);
    if (does === 'fail' || (does === 'fail-once' && message.attempt === 1)) throw new Error(text);
    if (does === 'give-up') throw new UnrecoverableError(text ?? 'no hope');
  }

  // A long lease: no renewal moves messages in flight while a test lists them.
  @DelayedHandler(HELD, { lease: '10m' })
  async hold(task: Task, message: DelayedMessage): Promise<void> {
    note(task, message);
    const { id, signal } = message;
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    noteAbort({ id, code: String(signal.reason.code) });
  }

  @OnDeadLetter(WORK)
  onDeadLetter({ id }: DeadLetter): void {
    noteDeath(id);
  }
}

/** Reports to the parent what an operator would read in the log. */
class ReportingLogger implements LoggerService {
  log(line: unknown): void {
    report({ kind: 'logged', line: String(line), at: performance.timeOrigin + performance.now() });
  }

  warn(line: unknown): void {
    console.error(line);
  }

  error(line: unknown): void {
    // Some tests cause a hundred thousand of these lines.
    if (!/ is dead |dead letters?/.test(String(line))) console.error(line);
  }
}

const { partitions, maxIdleWait, fleetEvents = false, deadLetter } = config;

@Module({
  imports: [
    DelayQueueModule.forRoot({
      redis: redisUrl,
      prefix,
      defaults: { partitions, ...(deadLetter && { deadLetter }) },
      consumer: { maxIdleWait, concurrency: 100_000 },
      fleetEvents,
    }),
  ],
  providers: [Operated],
})
class OperatedModule {}

const app = await NestFactory.createApplicationContext(OperatedModule, { logger: new ReportingLogger() });
app.enableShutdownHooks();
const producer = app.get(DelayQueueProducer);
let bustling: Bustling | undefined;
let listening: { unsubscribe(): void } | undefined;

async function publish({ topic, idPrefix, count, task, deliverAt, attempts, keys }: Load): Promise<void> {
  for (let from = 0; from < count; from += PUBLISHED_AT_ONCE) {
    const messages = Array.from({ length: Math.min(PUBLISHED_AT_ONCE, count - from) }, (_, i) => {
      const n = from + i;
      return {
        payload: { ...task, ...(task.text && { text: task.text.replace('#', String(n)) }) },
        options: {
          id: `${idPrefix}${n}`,
          ...(deliverAt && { deliverAt: deliverAt + Math.floor(n / MESSAGES_AT_ONE_TIME) }),
          ...(attempts && { attempts }),
          ...(keys && { key: `key-${n % keys}` }),
        },
      };
    });
    await producer.publishMany(topic, messages);
  }
}

async function serve(request: Request): Promise<void> {
  switch (request.kind) {
    case 'publish':
      return publish(request.load);
    case 'begin-bustle':
      bustling = new Bustling(producer, request.bustle);
      return;
    case 'end-bustle':
      return bustling?.end();
    case 'listen':
      listening = app.get(DelayQueueEvents).fleet.subscribe((event) => {
        const pid = Number(event.process?.split(':').at(-2));
        noteEvent({ kind: event.kind, id: 'id' in event ? event.id : undefined, pid });
      });
      return;
    case 'stop-listening':
      listening?.unsubscribe();
      return;
    case 'heal':
      healed = true;
  }
}

process.on('message', (message) => {
  const { number, ...request } = message as NumberedRequest;
  serve(request).then(
    () => report({ kind: 'done', number }),
    (error: unknown) => report({ kind: 'failed', number, error: String(error) }),
  );
});
report({ kind: 'ready' });
// The channel to the parent must not keep a process alive that has shut down.
process.channel?.unref();
