// The testing kit, `nestjs-delay-queue/testing`: anything not exported here can change at any time.

export { DelayQueueHarness, type OverridableModule } from './delay-queue.harness.js';
export { DelayQueueTestingModule, getDelayQueueHarnessToken } from './delay-queue-testing.module.js';
export type { BrokerOperation } from '../store/wrap-broker.js';
export type { FaultOptions } from './faults.js';
export type {
  DeadLetter,
  HarnessDeadLetter,
  HarnessMessage,
  MessageSettings,
  RecordedMessage,
  WaitingMessage,
} from './harness-messages.js';
export type { HarnessOptions } from './virtual-time.js';
export type { ResolvedBackoff } from '../messages/backoff.js';
