import { Module } from '@nestjs/common';
import { AppModule } from '../app.module.js';
import { OrdersModule } from '../orders/orders.module.js';
import { RunKeysCleaner } from './run-keys.cleaner.js';
import { StoryService } from './story.service.js';

/** The order service with a client that plays a story. Without the story, {@link AppModule} would be the root. */
@Module({
  imports: [AppModule, OrdersModule],
  providers: [StoryService, RunKeysCleaner],
})
export class StoryModule {}
