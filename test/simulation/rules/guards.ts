import type { SourceMutation } from '../../../scripts/setup/simulation.mjs';

export interface Mutation extends SourceMutation {
  readonly guard: string;
}

/** Guards of what handlers, operators and schedules see, which the real-process harness has none of: each with what switches it off. */
export const moreGuards: readonly Mutation[] = [
  {
    guard: 'attempts: a failure spends one',
    file: 'broker/redis/lua/modules/settle-one.lua',
    find: "delivery, attempt)\n      count('retried')",
    replace: "delivery, attempt - 1)\n      count('retried')",
  },
  {
    guard: 'attempts: after the last one a message is dead',
    file: 'consumer/delivery/verdict.ts',
    find: 'if (attempt >= maxAttempts)',
    replace: 'if (attempt > maxAttempts)',
  },
  {
    guard: 'backoff: a retry waits for it',
    file: 'broker/redis/lua/modules/settle-one.lua',
    find: 'reschedule(id, now_up + delay, delivery, attempt)',
    replace: 'reschedule(id, now_up, delivery, attempt)',
  },
  {
    guard: 'backoff: a retry waits for nothing else',
    file: 'broker/redis/lua/modules/settle-one.lua',
    find: 'reschedule(id, now_up + delay, delivery, attempt)',
    replace: 'reschedule(id, now_up + delay + 5000, delivery, attempt)',
  },
  {
    guard: 'expiry: what comes too late is not handled',
    file: 'consumer/delivery/delivery-check.ts',
    find: 'if (lateness > expireAfter)',
    replace: 'if (lateness > 1000 * expireAfter)',
  },
  {
    guard: 'at most once: what is handed out is gone',
    file: 'broker/redis/lua/claim.lua',
    find: 'local is_once = lease_ms == 0',
    replace: 'local is_once = false',
  },
  {
    guard: 'batch: a call has no more messages than may be',
    file: 'consumer/delivery/partition-run.ts',
    find: 'const size = handler.batch ?? 1;',
    replace: 'const size = 1 + (handler.batch ?? 1);',
  },
  {
    guard: 'slots: a handler has no more calls at once than may be',
    file: 'consumer/capacity/handler-slots.ts',
    find: 'return Math.max(0, this.#limit - this.#used);',
    replace: 'return Math.max(0, 2 * this.#limit - this.#used);',
  },
  {
    guard: 'priority: an earlier topic of a handler comes first',
    file: 'consumer/capacity/handler-slots.ts',
    find: 'if (this.#outranks(claimant)) {',
    replace: 'if (this.#outranks(claimant) && claimant.priority < 0) {',
  },
  {
    guard: 'cancel in flight: no retry follows',
    file: 'broker/redis/lua/modules/cancel.lua',
    find: "format_record(token, delivery, attempt, last_due or now, 'c')",
    replace: 'format_record(token, delivery, attempt, last_due or now)',
  },
  {
    guard: 'edit: the envelope is replaced',
    file: 'broker/redis/lua/edit.lua',
    find: "redis.call('HSET', messages, id, envelope)",
    replace: "redis.call('HLEN', messages)",
  },
  {
    guard: 'resume: a pause ends',
    file: 'broker/redis/lua/resume.lua',
    find: "redis.call('HDEL', meta, 'paused', 'held')",
    replace: "redis.call('HDEL', meta, 'held')",
  },
  {
    guard: 'search: an id without its key is looked for in all partitions',
    file: 'producer/find-message.ts',
    find: 'Array.from({ length: partitions }, async',
    replace: 'Array.from({ length: 1 }, async',
  },
  {
    guard: 'pause of a schedule: what was published ahead is taken back',
    file: 'schedules/delay-queue.schedules.ts',
    find: 'if (found) await this.#takeBack(found);',
    replace: '',
  },
  {
    guard: 'catch-up: all that was missed is published',
    file: 'schedules/catch-up.ts',
    find: "if (next >= outage || catchUp === 'all') {",
    replace: 'if (next >= now - 1000) {',
  },
  {
    guard: 'failed claim: its slots go back to those that can use them',
    file: 'consumer/delivery/partition-claimer.ts',
    find: 'wait: ${error.message}`);\n          this.#loseSlots();',
    replace: 'wait: ${error.message}`);',
  },
  {
    guard: 'damage: an envelope that cannot be read ends its message',
    file: 'consumer/delivery/delivery-check.ts',
    find: "decodeEnvelope(delivery.envelope);\n    } catch (error) {\n      return dead(toFailure('undecodable', error));",
    replace: 'decodeEnvelope(delivery.envelope);\n    } catch {\n      return RELEASED;',
  },
];
