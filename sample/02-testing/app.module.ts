import { Module } from '@nestjs/common';
import { DelayQueueModule } from 'nestjs-delay-queue';
import { AppConfig } from './config/app.config.js';
import { ConfigModule } from './config/config.module.js';
import { TrialsModule } from './trials/trials.module.js';

@Module({
  imports: [
    ConfigModule,
    DelayQueueModule.forRootAsync({
      inject: [AppConfig],
      useFactory: ({ redis }: AppConfig) => ({ redis, prefix: 'trials' }),
    }),
    TrialsModule,
  ],
})
export class AppModule {}
