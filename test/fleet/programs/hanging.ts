import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  DelayedHandler,
  DelayQueueModule,
  DelayQueueProducer,
  OnDeadLetter,
  UnrecoverableError,
  topic,
} from 'nestjs-delay-queue';
import { Gate } from '../../support/waiting.js';

/** What never ends in this application. */
export type Hanging = 'nothing' | 'handler' | 'schema' | 'hook';

const [url, prefix, hanging] = process.argv.slice(2) as [string, string, Hanging];

const reached = new Gate();

async function hangsIf(what: Hanging): Promise<void> {
  if (hanging !== what) return;
  reached.open();
  await new Promise(() => {});
}

const schema = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: async (value: unknown) => {
      await hangsIf('schema');
      return { value };
    },
  },
} as const;

const jobs = topic('jobs', { schema });

@Injectable()
class Jobs {
  @DelayedHandler(jobs, { timeout: '10m' })
  async handle(): Promise<void> {
    await hangsIf('handler');
    if (hanging === 'nothing') reached.open();
    throw new UnrecoverableError('no account');
  }

  @OnDeadLetter(jobs)
  async onDeadLetter(): Promise<void> {
    await hangsIf('hook');
  }
}

@Module({
  imports: [DelayQueueModule.forRoot({ redis: url, prefix, consumer: { shutdownTimeout: '500ms' } })],
  providers: [Jobs],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['warn', 'error'] });
// By its name: the producer would ask the schema, too.
await app.get(DelayQueueProducer).publish('jobs', 1);
await reached.opened;
await app.close();
const closedAt = performance.now();
process.on('exit', () =>
  process.stdout.write(`ended ${Math.round(performance.now() - closedAt)} ms after it was closed\n`),
);
process.disconnect?.();
