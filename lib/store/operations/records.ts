import {
  type AuditPage,
  type AuditQuery,
  type AuditRecord,
  type HistorySettings,
  MAX_SPANS,
  MINUTE,
  MINUTES_KEPT,
  type ProcessReport,
  type RecordOperations,
  type ReportedProcess,
  type ReportedWork,
  type SpanOfWork,
  type WorkReport,
} from '../broker.interface.js';
import { fieldsOf, scanFields } from './hash-fields.js';
import {
  decodeHoldings,
  decodeProcessState,
  decodeTopicWork,
  decodeWork,
  encodeReport,
  encodeWork,
} from '../records/process-records.js';
import type { RedisKeys } from '../keys.js';
import type { Calls } from '../driver.interface.js';
import type { OperationOptions } from './operation-options.interface.js';

/** Most reports that one call reads: they are long if a process handles many topics. */
const REPORTS_PER_CALL = 20;

/** About how many entries the audit log keeps. */
const AUDIT_LENGTH = 10_000;

/** What a report says if there is no history. */
const NO_HISTORY: HistorySettings = { span: 0, keep: 0 };

/** What processes say of themselves, and what operators did: for those who look, and nothing else depends on it. */
export class RedisRecords implements RecordOperations {
  readonly #calls: Calls;
  readonly #keys: RedisKeys;

  constructor({ calls, keys }: OperationOptions) {
    this.#calls = calls;
    this.#keys = keys;
  }

  async report({ session, number, state, holdings }: ProcessReport): Promise<boolean> {
    const given = {
      session,
      number,
      state: state ? encodeReport(number, state) : '',
      held: holdings ? encodeReport(number, holdings) : '',
    };
    const [noted] = await this.#calls.run('report', this.#keys.fleet, given);
    return noted === 1;
  }

  async reportWork({ session, number, minute, work, history = NO_HISTORY }: WorkReport): Promise<void> {
    const { span, keep } = history;
    const rest = work.flatMap((one) => [one.topic, encodeWork(number, one)]);
    const given = { session, number, keep: (MINUTES_KEPT + 1) * MINUTE, span, keep_history: keep, rest };
    const spanOfMinute = this.#keys.history(span, Math.floor(minute / Math.max(1, span)));
    const keys = { work: this.#keys.work(minute), history: spanOfMinute, spans: this.#keys.spans };
    await this.#calls.run('report-work', keys, given);
  }

  async reportedProcesses(sessions: readonly string[]): Promise<ReportedProcess[]> {
    const { processes, holdings } = this.#keys.fleet;
    const states = await fieldsOf(this.#calls, processes, sessions, REPORTS_PER_CALL);
    const held = await fieldsOf(this.#calls, holdings, sessions, REPORTS_PER_CALL);
    return sessions.map((_, i) => ({
      state: decodeProcessState(states[i] as string | null),
      holdings: decodeHoldings(held[i] as string | null),
    }));
  }

  async reportedWork(minute: number, topic?: string): Promise<ReportedWork[]> {
    const key = this.#keys.work(minute);
    // Neither a session nor a topic has a letter that means anything in a pattern.
    const pattern = topic === undefined ? '*' : `* ${topic}`;
    const fields = await scanFields(this.#calls, key, pattern);
    return [...fields].flatMap(([field, text]) => decodeWork(field, text) ?? []);
  }

  async historyOf(topic: string, minute: number): Promise<SpanOfWork[]> {
    const { spans } = this.#keys;
    const kept = await this.#calls.call([spans], (redis) => redis.hgetall(spans));
    const all = Object.entries(kept).map(([span, keep]) =>
      this.#historyBy(topic, { span: Number(span), keep: Number(keep) }, minute),
    );
    return (await Promise.all(all)).flat();
  }

  async #historyBy(topic: string, { span, keep }: HistorySettings, minute: number): Promise<SpanOfWork[]> {
    // Another program may have written there.
    if (!Number.isInteger(span) || span < 1 || !(keep > 0)) return [];
    const last = Math.floor(minute / span);
    const count = Math.min(MAX_SPANS, Math.ceil(keep / (span * MINUTE)) + 1);
    const numbers = Array.from({ length: count }, (_, i) => last - i);
    const found = numbers.map(async (number) => {
      const key = this.#keys.history(span, number);
      const text = await this.#calls.call([key], (redis) => redis.hget(key, topic));
      const work = decodeTopicWork(topic, text);
      return work ? [{ ...work, minute: number * span, span }] : [];
    });
    return (await Promise.all(found)).flat();
  }

  async appendAudit({ id, text }: AuditRecord): Promise<void> {
    const { audit } = this.#keys;
    await this.#calls.run('append-audit', { audit, answered: this.#keys.audited(id) }, { keep: AUDIT_LENGTH, text });
  }

  async auditRecords({ before, limit }: AuditQuery): Promise<AuditPage> {
    const { audit } = this.#keys;
    const from = before === undefined ? '+' : `(${before}`;
    const entries = await this.#calls.call([audit], (redis) => redis.xrevrange(audit, from, '-', 'COUNT', limit));
    const records = entries.map(([place, fields]) => ({
      place,
      at: Number.parseInt(place, 10),
      text: fields.find((_, i) => i % 2 === 1 && fields[i - 1] === 'e') ?? '',
    }));
    return { records, next: records.length === limit ? records.at(-1)?.place : undefined };
  }
}
