import { ConfigService } from '@nestjs/config';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import type { Environment } from './config/environment.js';

const app = await NestFactory.create(AppModule);
app.enableShutdownHooks();
await app.listen(app.get<ConfigService<Environment, true>>(ConfigService).get('PORT', { infer: true }), '127.0.0.1');
console.log(`The order service is ready at ${await app.getUrl()}`);
