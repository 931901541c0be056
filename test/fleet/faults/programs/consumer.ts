import 'reflect-metadata';
import { setTimeout as sleep } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable, Module, type OnApplicationBootstrap } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  BrokerUnavailableError,
  DelayedHandler,
  type DelayedMessage,
  DelayQueueEvents,
  DelayQueueHealth,
  DelayQueueModule,
  DelayQueueReceiver,
  RateLimitedError,
  type ForwardOptions,
  type ReceivedMessage,
  ReceiverUnavailableError,
  RetryLaterError,
  type TopicOptions,
} from 'nestjs-delay-queue';
import { from } from 'rxjs';
import { Recorder } from '../history/recorder.js';
import { type Command, type ConsumerConfig, PREFIX, TOPIC } from './config.js';
import { only } from './only.js';
import { PushedServer } from './pushed-server.js';

/** The library's, in milliseconds. */
const DEFAULT_LEASE = 30_000;

/** How often health is recorded, in milliseconds. */
const HEALTH_INTERVAL = 1000;

/** How long a message is new after it was published, in milliseconds. */
const FRESH = 1000;

/** Until a message that has failed, or was put off, comes again, in milliseconds. */
const BACKOFF = 50;

const FIXED = { type: 'fixed', delay: BACKOFF } as const;

/** How long a message that kills its process is handled before, in milliseconds. */
const FATAL_AFTER = 20;

/** Calls that wait for messages at once, how many each takes, and how long it waits, in milliseconds. */
const PULLS = 20;
const MOST = 3;
const WAIT = 500;

const config = JSON.parse(process.argv[2] ?? '{}') as ConsumerConfig;
const { name, applications = 1 } = config;

if (applications === 1) await startApplication(name);
else for (let i = 1; i <= applications; i++) await startApplication(`${name}.${i}`);

process.on('message', (command: Command) => {
  if (typeof command === 'object') blockEventLoop(command.block);
});
// The parent process has died.
process.on('disconnect', () => process.exit(1));
process.send?.('ready');

async function startApplication(processName: string): Promise<void> {
  const recorder = new Recorder(config.historyFile, processName, config.clockBase);
  // Leases are renewed three times each.
  recorder.watchStandstills((config.lease ?? DEFAULT_LEASE) / 2);

  @Injectable()
  class Worker {
    @DelayedHandler(TOPIC, { backoff: FIXED })
    async handle(_payload: unknown, message: DelayedMessage): Promise<void> {
      await handle(message, recorder);
    }
  }

  /** Receives what the worker would be called with. */
  @Injectable()
  class Puller implements OnApplicationBootstrap, BeforeApplicationShutdown {
    readonly #pulls: Promise<void>[] = [];

    constructor(readonly receiver: DelayQueueReceiver) {}

    onApplicationBootstrap(): void {
      for (let i = 0; i < PULLS; i++) this.#pulls.push(this.#pull());
    }

    async beforeApplicationShutdown(): Promise<void> {
      await Promise.all(this.#pulls);
    }

    async #pull(): Promise<void> {
      for (;;) {
        try {
          const messages = await this.receiver.receive(TOPIC, {
            max: MOST,
            wait: WAIT,
            lease: config.lease ?? DEFAULT_LEASE,
          });
          await Promise.all(messages.map(async (message) => this.#settle(message)));
        } catch (error) {
          if (error instanceof ReceiverUnavailableError) return;
          // Such as while Redis is away; what was received comes again.
          if (!(error instanceof BrokerUnavailableError)) throw error;
          await sleep(BACKOFF);
        }
      }
    }

    async #settle(message: ReceivedMessage): Promise<void> {
      try {
        await handle(message, recorder);
        await message.ack();
      } catch (error) {
        await message.retry(error, error instanceof RetryLaterError ? undefined : BACKOFF);
      }
    }
  }

  const server = config.pushes
    ? await PushedServer.start({
        onPush: (message) => begin(message, recorder),
        work: async (message) => work(message, recorder),
      })
    : undefined;
  const topic: TopicOptions = only(config, [
    'partitions',
    'ordered',
    'rateLimit',
    'maxInFlight',
    'attempts',
    'timeout',
  ]);
  if (server) Object.assign(topic, { push: server.push, backoff: FIXED } satisfies TopicOptions);
  if (config.forwards) {
    const emit = (_: unknown, message: unknown) => from(handle(message as DelayedMessage, recorder));
    const forward: ForwardOptions = { client: { emit }, pattern: TOPIC, data: (message) => message, concurrency: 100 };
    Object.assign(topic, { forward, backoff: FIXED } satisfies TopicOptions);
  }

  @Module({
    imports: [
      DelayQueueModule.forRoot({
        redis: config.redis,
        prefix: PREFIX,
        fleetEvents: config.fleetEvents ?? false,
        topics: { [TOPIC]: topic },
        consumer: only(config, ['lease', 'maxIdleWait', 'concurrency']),
        middleware: server ? [server.middleware] : [],
      }),
    ],
    providers: config.pulls ? [Puller] : config.pushes || config.forwards ? [] : [Worker],
  })
  class ConsumerModule {
    constructor(events: DelayQueueEvents) {
      events.acked.subscribe(({ id, attempt }) => recorder.record({ kind: 'settled', outcome: 'acked', id, attempt }));
      events.retried.subscribe(({ id, attempt }) =>
        recorder.record({ kind: 'settled', outcome: 'retried', id, attempt }),
      );
      events.stale.subscribe(({ id, attempt }) => recorder.record({ kind: 'settled', outcome: 'stale', id, attempt }));
      events.dead.subscribe(({ id, attempt, failure: { reason } }) =>
        recorder.record({ kind: 'settled', outcome: 'dead', id, attempt, reason }),
      );
      events.ownership.subscribe(({ partition, owned }) => recorder.record({ kind: 'ownership', partition, owned }));
    }
  }

  const app = await NestFactory.createApplicationContext(ConsumerModule, { logger: ['error', 'warn'] });
  app.enableShutdownHooks();
  if (config.watchesHealth)
    setInterval(() => void recordHealth(app.get(DelayQueueHealth), recorder), HEALTH_INTERVAL).unref();
}

async function recordHealth(health: DelayQueueHealth, recorder: Recorder): Promise<void> {
  const { status, problems, connection, session, topics } = await health.check({ timeout: HEALTH_INTERVAL });
  const stalled = session?.stalled === true || topics.some((topic) => topic.stalled);
  recorder.record({ kind: 'health', status, stalled, signals: connection.signals, problems });
}

async function handle(message: DelayedMessage, recorder: Recorder): Promise<void> {
  begin(message, recorder);
  await work(message, recorder);
}

function begin({ id, attempt, partition, dueAt, signal }: DelayedMessage, recorder: Recorder): void {
  recorder.record({ kind: 'delivery-started', id, attempt, partition, dueAt: dueAt.getTime() });
  signal.addEventListener('abort', () => {
    recorder.record({ kind: 'aborted', id, attempt, code: String((signal.reason as { code?: string }).code) });
  });
}

/** Does what is configured, and records how it ended. */
async function work({ id, attempt, publishedAt }: DelayedMessage, recorder: Recorder): Promise<void> {
  if (config.hangsOn?.includes(id)) await new Promise(() => {});
  if (id === config.diesOf) await die();
  if (id === config.meetsLimit?.id && Date.now() - publishedAt.getTime() < FRESH) {
    recorder.record({ kind: 'delivery-finished', id, attempt, ok: false, putOff: true });
    throw new RateLimitedError(config.meetsLimit.delay);
  }
  await sleep(Math.random() * config.handlerTime);
  const ok = Math.random() >= config.failures && !config.failsOf?.some((producer) => id.startsWith(`${producer}-`));
  const putOff = ok && Math.random() < (config.putOffs ?? 0);
  recorder.record({ kind: 'delivery-finished', id, attempt, ok: ok && !putOff, putOff });
  if (putOff) throw new RetryLaterError(BACKOFF);
  if (!ok) throw new Error('As configured');
}

/** Not before the handlers that were called with this one have begun. */
async function die(): Promise<void> {
  await sleep(FATAL_AFTER);
  process.kill(process.pid, 'SIGKILL');
}

function blockEventLoop(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}
