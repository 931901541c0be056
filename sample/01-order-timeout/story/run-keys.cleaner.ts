import { type BeforeApplicationShutdown, Inject, Injectable, Logger } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { DELAY_QUEUE_REDIS } from 'nestjs-delay-queue';
import { AppConfig } from '../config/app.config.js';

/** Removes the keys of this run, which nobody needs any more. In this shutdown hook all handlers have ended. */
@Injectable()
export class RunKeysCleaner implements BeforeApplicationShutdown {
  private readonly logger = new Logger(RunKeysCleaner.name);

  constructor(
    @Inject(DELAY_QUEUE_REDIS) private readonly redis: Redis,
    private readonly config: AppConfig,
  ) {}

  async beforeApplicationShutdown(): Promise<void> {
    // There they are gone with the process.
    if (this.config.redis.startsWith('embedded:')) return;
    const match = `{${this.config.prefix}:*`;
    try {
      for await (const keys of this.redis.scanStream({ match, count: 1000 }) as AsyncIterable<string[]>) {
        if (keys.length > 0) await this.redis.unlink(keys);
      }
    } catch (error) {
      this.logger.warn(`Keys that begin with ${match} may be left: ${(error as Error).message}`);
    }
  }
}
