import {
  type AuditPage,
  type AuditQuery,
  type AuditRecord,
  type BrokerOperations,
  MINUTE,
  MINUTES_KEPT,
  type ProcessReport,
  type ReportedProcess,
  type ReportedWork,
  type WorkReport,
} from '../broker.interface.js';
import { fieldsOf, scanFields } from './hash-fields.js';
import { decodeHoldings, decodeProcessState, decodeWork, encodeReport, encodeWork } from './process-records.js';
import type { RedisKeys } from './redis-keys.js';
import type { ScriptRunner } from './script-runner.js';

/** Most reports that one call reads: they are long if a process handles many topics. */
const REPORTS_PER_CALL = 20;

/** About how many entries the audit log keeps. */
const AUDIT_LENGTH = 10_000;

export interface RedisReportsOptions {
  readonly scripts: ScriptRunner;
  readonly keys: RedisKeys;
}

type ReportOperation = 'report' | 'reportWork' | 'reportedProcesses' | 'reportedWork' | 'appendAudit' | 'auditRecords';

/** What processes say of themselves, and what operators did: for those who look, and nothing else depends on it. */
export class RedisReports implements Pick<BrokerOperations, ReportOperation> {
  readonly #scripts: ScriptRunner;
  readonly #keys: RedisKeys;

  constructor({ scripts, keys }: RedisReportsOptions) {
    this.#scripts = scripts;
    this.#keys = keys;
  }

  async report({ session, number, state, holdings }: ProcessReport): Promise<boolean> {
    const given = {
      session,
      number,
      state: state ? encodeReport(number, state) : '',
      held: holdings ? encodeReport(number, holdings) : '',
    };
    const [noted] = await this.#scripts.run('report', this.#keys.fleet, given);
    return noted === 1;
  }

  async reportWork({ session, number, minute, work }: WorkReport): Promise<void> {
    const rest = work.flatMap((one) => [one.topic, encodeWork(number, one)]);
    const given = { session, number, keep: (MINUTES_KEPT + 1) * MINUTE, rest };
    await this.#scripts.run('report-work', { work: this.#keys.work(minute) }, given);
  }

  async reportedProcesses(sessions: readonly string[]): Promise<ReportedProcess[]> {
    const { processes, holdings } = this.#keys.fleet;
    const states = await fieldsOf(this.#scripts, processes, sessions, REPORTS_PER_CALL);
    const held = await fieldsOf(this.#scripts, holdings, sessions, REPORTS_PER_CALL);
    return sessions.map((_, i) => ({
      state: decodeProcessState(states[i] as string | null),
      holdings: decodeHoldings(held[i] as string | null),
    }));
  }

  async reportedWork(minute: number, topic?: string): Promise<ReportedWork[]> {
    const key = this.#keys.work(minute);
    // Neither a session nor a topic has a letter that means anything in a pattern.
    const pattern = topic === undefined ? '*' : `* ${topic}`;
    const fields = await scanFields(this.#scripts, key, pattern);
    return [...fields].flatMap(([field, text]) => decodeWork(field, text) ?? []);
  }

  async appendAudit({ id, text }: AuditRecord): Promise<void> {
    const { audit } = this.#keys;
    await this.#scripts.run('append-audit', { audit, answered: this.#keys.audited(id) }, { keep: AUDIT_LENGTH, text });
  }

  async auditRecords({ before, limit }: AuditQuery): Promise<AuditPage> {
    const { audit } = this.#keys;
    const from = before === undefined ? '+' : `(${before}`;
    const entries = await this.#scripts.call([audit], (redis) => redis.xrevrange(audit, from, '-', 'COUNT', limit));
    const records = entries.map(([place, fields]) => ({
      place,
      at: Number.parseInt(place, 10),
      text: fields.find((_, i) => i % 2 === 1 && fields[i - 1] === 'e') ?? '',
    }));
    return { records, next: records.length === limit ? records.at(-1)?.place : undefined };
  }
}
