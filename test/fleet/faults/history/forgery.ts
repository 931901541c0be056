import { check, excusedByLosses } from './checker.js';
import type { TestedLimits } from './limits.js';
import type { ClockStep, FaultRecord, FinalState, History, LossRecord, ProcessRecord } from './records.js';

type Outcome = 'acked' | 'retried' | 'dead' | 'stale';
type Unstamped<T> = T extends unknown ? Omit<T, 'at' | 'process'> : never;

/** Builds a history by hand. */
export class Forgery {
  readonly #records: ProcessRecord[] = [];
  readonly #faults: FaultRecord[] = [];
  readonly #losses: LossRecord[] = [];
  readonly #clockSteps: ClockStep[] = [];
  readonly #final = new Map<string, FinalState>();
  #ordered = false;
  #limits: TestedLimits = {};

  at(at: number, process: string, record: Unstamped<ProcessRecord>): this {
    this.#records.push({ at, process, ...record });
    return this;
  }

  published(at: number, id: string, dueAt = at, key?: string): this {
    return this.at(at, 'p', { kind: 'publish-confirmed', id, dueAt, key });
  }

  started(at: number, process: string, id: string, attempt = 1, dueAt = at): this {
    return this.at(at, process, { kind: 'delivery-started', id, attempt, dueAt, partition: 0 });
  }

  finished(at: number, process: string, id: string, attempt = 1, ok = true): this {
    return this.at(at, process, { kind: 'delivery-finished', id, attempt, ok });
  }

  putOff(at: number, process: string, id: string, attempt = 1): this {
    this.at(at, process, { kind: 'delivery-finished', id, attempt, ok: false, putOff: true });
    return this.settled(at, process, id, 'retried', attempt);
  }

  settled(at: number, process: string, id: string, outcome: Outcome, attempt = 1): this {
    return this.at(at, process, { kind: 'settled', id, attempt, outcome, reason: 'failed' });
  }

  owned(at: number, process: string, owned: boolean): this {
    return this.at(at, process, { kind: 'ownership', partition: 0, owned });
  }

  fault(at: number, until: number, process: string | undefined, fatal = false): this {
    this.#faults.push({ at, until, process, fatal, fault: 'forged' });
    return this;
  }

  /** As by SIGSTOP and SIGCONT. */
  stopped(at: number, until: number, process: string): this {
    this.#faults.push({ at, until, process, fatal: false, fault: 'SIGSTOP' });
    return this;
  }

  /** A fault that hits everything, and that is too short to end a lease. */
  shortFault(at: number, until: number): this {
    this.#faults.push({ at, until, process: undefined, fatal: false, fault: 'forged', keepsLeases: true });
    return this;
  }

  redisLost(from: number, until: number): this {
    this.#losses.push({ from, until });
    return this;
  }

  clockStep(at: number, offset: number): this {
    this.#clockSteps.push({ at, offset });
    return this;
  }

  left(id: string, state: FinalState): this {
    this.#final.set(id, state);
    return this;
  }

  rules(): string[] {
    return check(this.#history()).map(({ rule }) => rule);
  }

  /** What is excused by what Redis lost. */
  excused(): Record<string, number> {
    return Object.fromEntries(excusedByLosses(this.#history()));
  }

  /** From now on, messages of one key have to be handled in order. */
  ordered(): this {
    this.#ordered = true;
    return this;
  }

  /** Of the topic. */
  limited(limits: TestedLimits): this {
    this.#limits = limits;
    return this;
  }

  #history(): History {
    return {
      records: this.#records,
      faults: this.#faults,
      losses: this.#losses,
      clockSteps: this.#clockSteps,
      final: this.#final,
      lease: 1000,
      session: 600,
      publishTimeout: 3000,
      attempts: 3,
      ordered: this.#ordered,
      limits: this.#limits,
    };
  }
}
