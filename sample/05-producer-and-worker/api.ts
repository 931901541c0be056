import { NestFactory } from '@nestjs/core';
import { ApiModule } from './api/api.module.js';

const app = await NestFactory.create(ApiModule);
app.enableShutdownHooks();
await app.listen(Number(process.env['PORT'] ?? 0), '127.0.0.1');
console.log(`The API is ready at ${await app.getUrl()}`);
