import type { SourceMutation } from '../../../scripts/setup/simulation.mjs';

export interface Mutation extends SourceMutation {
  readonly guard: string;
}

/** Guards of what handlers, operators and schedules see, which the real-process harness has none of: each with what switches it off: all that has its name. */
export const moreGuards: readonly Mutation[] = [
  {
    guard: 'attempts: a failure spends one',
    file: 'store/lua/modules/settle-one.lua',
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
    file: 'store/lua/modules/settle-one.lua',
    find: 'reschedule(id, now_up + delay, delivery, attempt)',
    replace: 'reschedule(id, now_up, delivery, attempt)',
  },
  {
    guard: 'backoff: a retry waits for nothing else',
    file: 'store/lua/modules/settle-one.lua',
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
    file: 'store/lua/claim.lua',
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
    file: 'consumer/admission/handler-slots.ts',
    find: 'return Math.max(0, this.#limit - this.#used);',
    replace: 'return Math.max(0, 2 * this.#limit - this.#used);',
  },
  {
    guard: 'priority: an earlier topic of a handler comes first',
    file: 'consumer/admission/handler-slots.ts',
    find: 'if (this.#outranks(claimant)) {',
    replace: 'if (this.#outranks(claimant) && claimant.priority < 0) {',
  },
  {
    guard: 'cancel in flight: no retry follows',
    file: 'store/lua/modules/cancel.lua',
    find: "format_record(token, delivery, attempt, last_due or now, 'c')",
    replace: 'format_record(token, delivery, attempt, last_due or now)',
  },
  {
    guard: 'edit: the envelope is replaced',
    file: 'store/lua/edit.lua',
    find: "redis.call('HSET', messages, id, envelope)",
    replace: "redis.call('HLEN', messages)",
  },
  {
    guard: 'resume: a pause ends',
    file: 'store/lua/resume.lua',
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
    guard: 'search among several: one that is not meant does not end it',
    file: 'producer/find-message.ts',
    find: 'const found = await look(partition, storedId);\n      if (found !== undefined) return found;',
    replace: 'return look(partition, storedId);',
  },
  {
    guard: 'pause of a schedule: what was published ahead is taken back',
    file: 'schedules/delay-queue.schedules.ts',
    find: 'if (found && (await this.#found.find(id))?.record.state.paused) await this.#takeBack(found);',
    replace: '',
  },
  {
    guard: 'catch-up: all that was missed is published',
    file: 'schedules/catch-up.ts',
    find: "if (next >= outage || catchUp === 'all') {",
    replace: 'if (next >= now - 1000) {',
  },
  {
    guard: 'expiry: what was delivered once does not expire',
    file: 'consumer/delivery/delivery-check.ts',
    find: 'expireAfter !== undefined && delivery.number === 1',
    replace: 'expireAfter !== undefined',
  },
  {
    guard: 'dead letters: the owner looks again for those that others leave',
    file: 'consumer/upkeep/retention-trimmer.ts',
    find: 'if (!this.#isOwner || maxAge === undefined) return undefined;',
    replace: 'if (this.#isOwner || maxAge === undefined) return undefined;',
  },
  {
    guard: 'stored options: a backoff that is none is none',
    file: 'messages/envelope.ts',
    find: 'b === undefined ? undefined : decodeBackoff(b);',
    replace: 'b === undefined ? undefined : (b as never);',
  },
  {
    guard: 'paused partition: its owner looks again',
    file: 'consumer/delivery/partition-claimer.ts',
    find: 'if (nextAt === undefined) return;',
    replace: "if (nextAt === undefined || status === 'paused') return;",
  },
  {
    guard: 'hold of a handler: it ends when its topic is resumed',
    file: 'consumer/admission/claim-admission.ts',
    find: "if (status === 'claimed') hold.ended(this.#knownHold);",
    replace: 'void [status, hold];',
  },
  {
    guard: 'drain: what waits behind others of its key goes, too',
    file: 'store/lua/clear.lua',
    find: "order_mode and set == scheduled and redis.call('ZRANGE', blocked, 0, LIMIT - 1, 'WITHSCORES') or {}",
    replace: '{}',
  },
  {
    guard: 'run now: the first one of a key stays the first one',
    file: 'store/lua/reschedule.lua',
    find: "return order_mode and order_mode ~= 'limits' and last_due or to_time(score)",
    replace: 'return last_due and false or to_time(score)',
  },
  {
    guard: 'order: whoever settles learns from the answer what is due',
    file: 'store/lua/settle.lua',
    find: "redis.pcall('GET', owner) == claimant then due = earliest",
    replace: "redis.pcall('GET', owner) == claimant and false then due = earliest",
  },
  {
    guard: 'begin of a permit: it follows how far away Redis is',
    file: 'consumer/admission/begin-estimate.ts',
    find: 'get window(): BeginWindow {',
    replace: 'get window(): BeginWindow {\n    if (LEAST_SLACK > 0) return { lead: 0, slack: 50, ahead: 42 };',
  },
  {
    guard: 'line for permits: whoever does not come when it is its turn keeps nobody waiting',
    file: 'store/lua/permit.lua',
    find: 'and i <= before and has_come then ahead',
    replace: 'and i <= before and (has_come or true) then ahead',
  },
  {
    guard: 'count of permits: a lower limit holds for a process that is busy',
    file: 'store/lua/permit.lua',
    find: 'if used > most then',
    replace: 'if false then',
  },
  {
    guard: 'turns: what is due at the same time comes in the order of the topics',
    file: 'consumer/admission/handler-slots.ts',
    find: 'if (other.isAboutToAsk) setOf',
    replace: 'if (other.isAboutToAsk && other.priority < 0) setOf',
  },
  {
    guard: 'receiving: nothing is due only after it was looked',
    file: 'consumer/pulling/pulled-topics.ts',
    find: '            await told;\n            await consumer.shared();\n',
    replace: '',
  },
  {
    guard: 'order: a message waits behind the head of its key',
    file: 'store/lua/modules/order.lua',
    find: 'if head and head ~= id and leads(head, key) and not displace(head, due) then',
    replace: 'if false and head ~= id and leads(head, key) and not displace(head, due) then',
  },
  {
    guard: 'receipts: of two settles at once the first counts',
    file: 'consumer/delivery/taken-deliveries.ts',
    find: "if (delivery.settled) return 'stale';",
    replace: '',
  },
  {
    guard: 'receipts: of two settles at once the first counts',
    file: 'consumer/pulling/receipts.ts',
    find: 'const delivery = this.#deliveryOf(used);\n    const at =',
    replace: 'const delivery = this.#deliveryOf(used);\n    await undefined;\n    const at =',
  },
  {
    guard: 'schedules: what is late by less than an outage is published',
    file: 'schedules/catch-up.ts',
    find: 'const outage = now - MOST_LATE;',
    replace: "const outage = catchUp === 'none' ? now : now - MOST_LATE;",
  },
  {
    guard: 'schedules: what was stored for another topic meanwhile is taken away again',
    file: 'schedules/delay-queue.schedules.ts',
    find: 'if (error instanceof InvalidArgumentError) await this.#discard(partition, id);',
    replace: '',
  },
  {
    guard: 'prune: a topic whose intake is stopped has handlers',
    file: 'fleet/live-processes.ts',
    find: '    ...Object.keys(holdings),\n',
    replace: '    ...Object.keys(holdings).slice(0, 0),\n',
  },
  {
    guard: 'failed claim: its slots go back to those that can use them',
    file: 'consumer/delivery/partition-claimer.ts',
    find: 'wait: ${error.message}`);\n          admission.loseSlots();',
    replace: 'wait: ${error.message}`);',
  },
  {
    guard: 'damage: an envelope that cannot be read ends its message',
    file: 'consumer/delivery/delivery-check.ts',
    find: "decodeEnvelope(delivery.envelope);\n    } catch (error) {\n      return dead(toFailure('undecodable', error));",
    replace: 'decodeEnvelope(delivery.envelope);\n    } catch {\n      return RELEASED;',
  },
];
