import { ConfigurableModuleBuilder } from '@nestjs/common';
import type { DelayQueueModuleOptions } from './interfaces/delay-queue-options.interface.js';

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<DelayQueueModuleOptions>(
  { moduleName: 'DelayQueue' },
)
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createDelayQueueOptions')
  .setExtras({ isGlobal: true }, (definition, { isGlobal }) => ({ ...definition, global: isGlobal }))
  .build();
