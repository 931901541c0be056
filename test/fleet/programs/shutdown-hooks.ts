import 'reflect-metadata';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayedHandler, DelayQueueEvents, DelayQueueModule } from 'nestjs-delay-queue';

/** How the application handles signals. */
export type ShutdownHooks = 'none' | 'late' | 'closes' | 'publishes only';

const [url, prefix, hooks] = process.argv.slice(2) as [string, string, ShutdownHooks];

@Injectable()
class Jobs {
  @DelayedHandler('jobs')
  handle(): void {}
}

const consumer = hooks === 'publishes only' ? false : { lease: '20s', maxIdleWait: '2s' };

@Module({
  imports: [
    DelayQueueModule.forRoot({ redis: url, prefix, consumer }),
    DelayQueueModule.forRoot({ name: 'second', redis: url, prefix: `${prefix}-second`, consumer }),
  ],
  providers: [Jobs],
})
class AppModule {
  @DelayedHandler('other', { connection: 'second' })
  handle(): void {}
}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['warn', 'error'] });
app.get(DelayQueueEvents).errors.subscribe(({ source, error }) => {
  process.stdout.write(`emitted ${source}: ${(error as Error).name}\n`);
});
await sleep(1000);
if (hooks === 'late') app.enableShutdownHooks();
if (hooks === 'closes') await app.close();
await sleep(6000);
await app.close();
process.stdout.write('done\n');
process.disconnect?.();
