import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayedHandler, DelayQueueModule } from 'nestjs-delay-queue';

/** What this program handles; JSON in its first argument. */
export interface IdleConfig {
  readonly redis: string;
  readonly topics: number;
  /** Of each topic. */
  readonly partitions: number;
}

const { redis, topics, partitions } = JSON.parse(process.argv[2] ?? '{}') as IdleConfig;

const workers = Array.from({ length: topics }, (_, i) => {
  @Injectable()
  class Worker {
    @DelayedHandler(`idle.${i}`)
    handle(): void {
      throw new Error('A message came, although none was published');
    }
  }
  return Worker;
});

@Module({
  imports: [DelayQueueModule.forRoot({ redis, prefix: 'idle', defaults: { partitions } })],
  providers: workers,
})
class IdleModule {}

await NestFactory.createApplicationContext(IdleModule, { logger: ['error', 'warn'] });
let used = process.cpuUsage();
// Answers every message with the CPU time since the one before, in milliseconds.
process.on('message', () => {
  const { user, system } = process.cpuUsage(used);
  used = process.cpuUsage();
  process.send?.((user + system) / 1000);
});
// The parent process has died.
process.on('disconnect', () => process.exit(1));
process.send?.(0);
