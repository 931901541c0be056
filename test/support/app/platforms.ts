import { type INestApplication, type INestApplicationContext, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { DelayQueueModule } from 'nestjs-delay-queue';
import type { AppSetup, Bed, RunningApp } from './bed.js';
import { LogBook } from './log-book.js';

/** The platform of an application that serves HTTP. */
export type HttpPlatform = 'Express' | 'Fastify';
export const HTTP_PLATFORMS: readonly HttpPlatform[] = ['Express', 'Fastify'];

/** Everything that runs handlers. */
export type Platform = HttpPlatform | 'an application context' | 'a testing module';
export const PLATFORMS: readonly Platform[] = [...HTTP_PLATFORMS, 'an application context', 'a testing module'];

/** Makes an application as its `main.ts` would, and boots it. */
export async function bootOn(
  platform: Platform,
  bed: Bed,
  setup: AppSetup,
): Promise<RunningApp<INestApplicationContext>> {
  const logs = new LogBook();
  const root = rootModule(bed, setup);
  if (platform === 'an application context') {
    return bed.adopt(await NestFactory.createApplicationContext(root, { logger: logs, abortOnError: false }), logs);
  }
  if (platform === 'a testing module') {
    const module = await Test.createTestingModule({ imports: [root] })
      .setLogger(logs)
      .compile();
    const app = bed.adopt(module, logs);
    await module.init();
    return app;
  }
  return (await serveOn(platform, bed, setup)).app;
}

/**
 * Makes an HTTP application as its `main.ts` would, and lets it listen.
 *
 * @param prepare what `main.ts` does before it listens
 */
export async function serveOn(
  platform: HttpPlatform | 'Fastify with HTTP/2',
  bed: Bed,
  setup: AppSetup,
  prepare: (nest: INestApplication) => void = () => {},
): Promise<{ app: RunningApp; url: string }> {
  const logs = new LogBook();
  const root = rootModule(bed, setup);
  const options = { logger: logs, abortOnError: false };
  const nest: INestApplication =
    platform === 'Express'
      ? await NestFactory.create(root, options)
      : await NestFactory.create(root, fastify(platform === 'Fastify'), options);
  const app = bed.adopt(nest, logs);
  prepare(nest);
  await nest.listen(0, '127.0.0.1');
  return { app, url: await nest.getUrl() };
}

/** Its types tell an adapter of HTTP/2 from one of HTTP/1, and Nest takes both. */
function fastify(isHttp1: boolean): FastifyAdapter {
  return isHttp1 ? new FastifyAdapter() : new FastifyAdapter({ http2: true });
}

function rootModule(bed: Bed, { options = {}, imports = [], ...rest }: AppSetup): Type {
  @Module({ ...rest, imports: [DelayQueueModule.forRoot(bed.options(options)), ...imports] })
  class AppModule {}
  return AppModule;
}
