export { BullmqImport, OtherDestinationError } from './bullmq-import.js';
export { type BullmqCounts, BullmqQueue, type BullmqRedis } from './bullmq-queue.js';
export type { ImportCounts, LeftJobs, LeftReason } from './import-counts.js';
export { ImportGoal } from './import-goal.js';
