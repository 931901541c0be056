// The outbox, `nestjs-delay-queue/outbox`: what is not named here may change at any time.

export { DelayQueueOutboxModule, type DelayQueueOutboxAsyncOptions } from './outbox.module.js';
export type { DelayQueueOutboxOptions } from './outbox-options.js';
export type { OutboxAdapter, OutboxDialect, OutboxTransaction, OutboxValue } from './table/outbox-adapter.interface.js';
export { type BegunTransaction, FollowedTransactions, type RunStatement } from './adapters/followed-transactions.js';
