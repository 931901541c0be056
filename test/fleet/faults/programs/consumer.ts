import 'reflect-metadata';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Module, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  DelayedHandler,
  type DelayedMessage,
  DelayQueueError,
  DelayQueueEvents,
  DelayQueueHealth,
  DelayQueueModule,
  DelayQueueReceiver,
  RateLimitedError,
  type ReceivedMessage,
  RetryLaterError,
} from 'nestjs-delay-queue';
import { Recorder } from '../history/recorder.js';
import { type Command, type ConsumerConfig, PREFIX, TOPIC } from './config.js';
import { only } from './only.js';
import { OutboundServer } from './outbound.js';

/** The library's, in milliseconds. */
const DEFAULT_LEASE = 30_000;

/** How often health is recorded, in milliseconds. */
const HEALTH_INTERVAL = 1000;

/** How long a message is new after it was published, in milliseconds. */
const FRESH = 1000;

/** Until a message that has failed, or was put off, comes again, in milliseconds. */
const BACKOFF = 50;

const BACKOFFS = { type: 'fixed', delay: BACKOFF } as const;

/** How long a message that kills its process is handled before, in milliseconds. */
const FATAL_AFTER = 20;

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

  class Worker {
    async handle(_payload: unknown, message: DelayedMessage): Promise<void> {
      this.begin(message);
      await this.work(message);
    }

    begin({ id, attempt, partition, dueAt, signal }: DelayedMessage): void {
      recorder.record({ kind: 'delivery-started', id, attempt, partition, dueAt: dueAt.getTime() });
      signal.addEventListener('abort', () => {
        recorder.record({ kind: 'aborted', id, attempt, code: String((signal.reason as { code?: string }).code) });
      });
    }

    async work({ id, attempt, publishedAt }: DelayedMessage): Promise<void> {
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
  }

  @Injectable()
  class HandlingWorker extends Worker {
    @DelayedHandler(TOPIC, { backoff: BACKOFFS })
    override async handle(payload: unknown, message: DelayedMessage): Promise<void> {
      await super.handle(payload, message);
    }
  }

  @Injectable()
  class PullingWorker extends Worker implements OnApplicationBootstrap, OnModuleDestroy {
    readonly #ending = new AbortController();
    #receiving: Promise<unknown> | undefined;

    constructor(readonly receiver: DelayQueueReceiver) {
      super();
    }

    onApplicationBootstrap(): void {
      this.#receiving = Promise.all(Array.from({ length: config.concurrency ?? 1 }, async () => this.#receive()));
    }

    async onModuleDestroy(): Promise<void> {
      this.#ending.abort();
      await this.#receiving;
    }

    async #receive(): Promise<void> {
      const { signal } = this.#ending;
      while (!signal.aborted) {
        try {
          for (const message of await this.receiver.receive(TOPIC, { wait: '5s', signal })) await this.#work(message);
        } catch (error) {
          // Its lease ends, or somebody else can be asked.
          if (!(error instanceof DelayQueueError)) throw error;
          await sleep(BACKOFF);
        }
      }
    }

    async #work(message: ReceivedMessage): Promise<void> {
      try {
        await this.handle(message.payload, message);
      } catch (error) {
        await message.retry(error, BACKOFF);
        return;
      }
      await message.ack();
    }
  }

  const { outbound } = config;
  const worker = new Worker();
  const server = outbound && (await OutboundServer.start(worker));

  @Module({
    imports: [
      DelayQueueModule.forRoot({
        redis: config.redis,
        prefix: PREFIX,
        fleetEvents: config.fleetEvents ?? false,
        topics: {
          [TOPIC]: {
            ...only(config, ['partitions', 'ordered', 'rateLimit', 'maxInFlight', 'attempts', 'timeout']),
            ...(server && outbound && { backoff: BACKOFFS, ...server.options(outbound) }),
          },
        },
        middleware: server ? [server.middleware] : [],
        consumer: only(config, ['lease', 'maxIdleWait', 'concurrency']),
      }),
    ],
    providers: outbound ? [] : [config.pulls === true ? PullingWorker : HandlingWorker],
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

/** Not before the handlers that were called with this one have begun. */
async function die(): Promise<void> {
  await sleep(FATAL_AFTER);
  process.kill(process.pid, 'SIGKILL');
}

function blockEventLoop(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}
