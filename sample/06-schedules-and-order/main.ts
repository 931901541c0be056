import { NestFactory } from '@nestjs/core';
import { StoryService } from './story/story.service.js';
import { WarehouseModule } from './warehouse.module.js';

const warehouse = await NestFactory.createApplicationContext(WarehouseModule, { logger: ['warn', 'error'] });
warehouse.enableShutdownHooks();
const cameTrue = await warehouse.get(StoryService).play();
await warehouse.close();
process.exitCode = cameTrue ? 0 : 1;
