import { NestFactory } from '@nestjs/core';
import { AppConfig } from './config/app.config.js';
import { StoryLogger } from './story/story.logger.js';
import { StoryModule } from './story/story.module.js';
import { StoryService } from './story/story.service.js';
import { usage } from './story/usage.js';

const logger = new StoryLogger();
const app = await NestFactory.create(StoryModule, { logger, abortOnError: false });
app.enableShutdownHooks();
await app.listen(app.get(AppConfig).port, '127.0.0.1');
const url = await app.getUrl();

const cameTrue = await app.get(StoryService).play(url);
logger.endStory(cameTrue);
if (process.argv.includes('--once')) {
  await app.close();
  process.exitCode = cameTrue ? 0 : 1;
} else {
  console.log(usage(url));
}
