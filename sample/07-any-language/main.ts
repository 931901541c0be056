import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { ShopModule } from './shop.module.js';
import { StoryService } from './story/story.service.js';

/** A payload has up to 1 MiB, and a request is a little more than its payload. Bytes. */
const MAX_BODY = 2 * 1024 * 1024;

const shop = await NestFactory.create<NestFastifyApplication>(ShopModule, new FastifyAdapter({ bodyLimit: MAX_BODY }), {
  logger: ['warn', 'error'],
});
shop.enableShutdownHooks();
await shop.listen(Number(process.env['PORT'] ?? 0), '127.0.0.1');
const cameTrue = await shop.get(StoryService).play(await shop.getUrl());
await shop.close();
process.exitCode = cameTrue ? 0 : 1;
