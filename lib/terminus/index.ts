// For @nestjs/terminus, `nestjs-delay-queue/terminus`: what is not named here may change at any time.

export { DelayQueueHealthIndicator, type DelayQueueIndicatorOptions } from './delay-queue.health-indicator.js';
