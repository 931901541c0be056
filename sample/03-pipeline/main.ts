import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { AppConfig } from './config/app.config.js';
import { CorrelationLogger } from './correlation/correlation.logger.js';

const app = await NestFactory.create(AppModule, { bufferLogs: true });
app.useLogger(app.get(CorrelationLogger));
app.enableShutdownHooks();
await app.listen(app.get(AppConfig).port, '127.0.0.1');
console.log(`The invoice service is ready at ${await app.getUrl()}`);
