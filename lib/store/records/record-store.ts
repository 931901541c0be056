import { fieldsOf, scanFields } from '../calls/hash-fields.js';
import type { Driver } from '../driver.interface.js';
import type { StoreKeys } from '../keys.js';
import type { StoreOptions } from '../store-options.interface.js';
import type { AuditPage, AuditQuery, AuditRecord } from './audit.interface.js';
import {
  type HistorySettings,
  MAX_SPANS,
  MINUTE,
  MINUTES_KEPT,
  type ProcessReport,
  type ReportedProcess,
  type ReportedWork,
  type SpanOfWork,
  type WorkReport,
  decodeHoldings,
  decodeProcessState,
  decodeTopicWork,
  decodeWork,
  encodeReport,
  encodeWork,
} from './process-records.js';

/** Most reports in one call: they are long if a process handles many topics. */
const REPORTS_PER_CALL = 20;

/** Approximate number of entries that the audit log keeps. */
const AUDIT_LENGTH = 10_000;

/** Settings in a report without a history. */
const NO_HISTORY: HistorySettings = { span: 0, keep: 0 };

/** Reports of processes, and the log of operators' actions: for those who look, and nothing else depends on it. */
export class RecordStore {
  readonly #driver: Driver;
  readonly #keys: StoreKeys;

  constructor({ driver, keys }: StoreOptions) {
    this.#driver = driver;
    this.#keys = keys;
  }

  /**
   * Stores the report of a process; {@link forget} removes it.
   *
   * @returns whether its session is stored; without one, nothing is written
   */
  async report({ session, number, state, holdings }: ProcessReport): Promise<boolean> {
    const given = {
      session,
      number,
      state: state ? encodeReport(number, state) : '',
      held: holdings ? encodeReport(number, holdings) : '',
    };
    const [noted] = await this.#driver.run('report', this.#keys.fleet, given);
    return noted === 1;
  }

  /** Stores the work of a process in a minute. It is kept for `MINUTES_KEPT` minutes, and summed up in the history if there is one. */
  async reportWork({ session, number, minute, work, history = NO_HISTORY }: WorkReport): Promise<void> {
    const { span, keep } = history;
    const rest = work.flatMap((one) => [one.topic, encodeWork(number, one)]);
    const given = { session, number, keep: (MINUTES_KEPT + 1) * MINUTE, span, keep_history: keep, rest };
    const spanOfMinute = this.#keys.history(span, Math.floor(minute / Math.max(1, span)));
    const keys = { work: this.#keys.work(minute), history: spanOfMinute, spans: this.#keys.spans };
    await this.#driver.run('report-work', keys, given);
  }

  /** Returns the reports of the processes of these sessions, in their order. */
  async reportedProcesses(sessions: readonly string[]): Promise<ReportedProcess[]> {
    const { processes, holdings } = this.#keys.fleet;
    const states = await fieldsOf(this.#driver, processes, sessions, REPORTS_PER_CALL);
    const held = await fieldsOf(this.#driver, holdings, sessions, REPORTS_PER_CALL);
    return sessions.map((_, i) => ({
      state: decodeProcessState(states[i] as string | null),
      holdings: decodeHoldings(held[i] as string | null),
    }));
  }

  /**
   * Returns the work of all processes in a minute since the epoch, including those that have gone.
   *
   * @param topic only for this one
   */
  async reportedWork(minute: number, topic?: string): Promise<ReportedWork[]> {
    const key = this.#keys.work(minute);
    // Neither a session nor a topic has a character with a meaning in a pattern.
    const pattern = topic === undefined ? '*' : `* ${topic}`;
    const fields = await scanFields(this.#driver, key, pattern);
    return [...fields].flatMap(([field, text]) => decodeWork(field, text) ?? []);
  }

  /**
   * Returns the history of a topic, in no order. Each four buckets of lateness are joined to one.
   *
   * @param minute the last one, since the epoch
   */
  async historyOf(topic: string, minute: number): Promise<SpanOfWork[]> {
    const { spans } = this.#keys;
    const kept = await this.#driver.call([spans], (redis) => redis.hgetall(spans));
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
      const text = await this.#driver.call([key], (redis) => redis.hget(key, topic));
      const work = decodeTopicWork(topic, text);
      return work ? [{ ...work, minute: number * span, span }] : [];
    });
    return (await Promise.all(found)).flat();
  }

  /** Writes down an operator's action; about the latest 10,000 records are kept. */
  async appendAudit({ id, text }: AuditRecord): Promise<void> {
    const { audit } = this.#keys;
    await this.#driver.run('append-audit', { audit, answered: this.#keys.audited(id) }, { keep: AUDIT_LENGTH, text });
  }

  /** Returns the actions of operators, the latest first. */
  async auditRecords({ before, limit }: AuditQuery): Promise<AuditPage> {
    const { audit } = this.#keys;
    const from = before === undefined ? '+' : `(${before}`;
    const entries = await this.#driver.call([audit], (redis) => redis.xrevrange(audit, from, '-', 'COUNT', limit));
    const records = entries.map(([place, fields]) => ({
      place,
      at: Number.parseInt(place, 10),
      text: fields.find((_, i) => i % 2 === 1 && fields[i - 1] === 'e') ?? '',
    }));
    return { records, next: records.length === limit ? records.at(-1)?.place : undefined };
  }
}
