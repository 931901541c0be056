import type { Broker } from '../store/broker.interface.js';
import {
  type HistorySettings,
  type Holdings,
  MAX_REPORTED_TOPICS,
  MAX_REPORTED_WITH_HISTORY,
  MINUTE,
  MINUTES_KEPT,
  type ProcessState,
} from '../store/records/process-records.js';
import { BrokerUnavailableError } from '../errors/operation.errors.js';
import type { EventSink } from '../events/queue-events.interface.js';
import type { Clock } from '../time/clock.js';
import { Loop } from '../time/loop.js';
import { VERSION } from '../version.js';
import { type MinuteOfWork, WorkMeter } from './work-meter.js';

/** Smallest change of the estimate of Redis's clock that is reported, in milliseconds. */
const CLOCK_STEP = 10;

/** Current work of this process, as reported to others. */
export interface ProcessLook extends Pick<ProcessState, 'concurrency' | 'busy' | 'waiting' | 'starved' | 'receivers'> {
  readonly holdings: Holdings;
}

/** Contents of a report beside the state of the process. */
export interface ReportSettings {
  /** Whether it publishes its events for the fleet. @defaultValue false */
  readonly fleetEvents?: boolean;
  /** @defaultValue none is kept */
  readonly history?: HistorySettings | undefined;
}

export interface ProcessReporterOptions extends ReportSettings {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly events: EventSink;
  /** Name of this process. */
  readonly session: string;
  readonly look: () => ProcessLook;
}

/**
 * Reports what this process is and does, for those who look at the fleet. Reports come with the heartbeats and carry only changes: while nothing
 * happens, nothing is sent. What cannot be sent now goes with a later heartbeat.
 */
export class ProcessReporter {
  readonly #options: ProcessReporterOptions;
  readonly #meters = new Map<string, WorkMeter>();
  readonly #telling: Loop;
  #joined = false;
  #number = 0;
  #since: number | undefined;
  /** State that the others know. */
  #state: ProcessState | undefined;
  #holdings = '';

  constructor(options: ProcessReporterOptions) {
    this.#options = options;
    this.#telling = new Loop({ clock: options.clock, run: () => this.#tell() });
  }

  /** Returns the meter of the work for a topic. */
  meter(topic: string): WorkMeter {
    let meter = this.#meters.get(topic);
    if (!meter) this.#meters.set(topic, (meter = new WorkMeter(topic)));
    return meter;
  }

  /** Call this after each answered heartbeat. */
  poke(): void {
    this.#joined = true;
    this.#telling.poke();
  }

  /** Resolves once the current report was sent, or has failed. Before the first heartbeat there is none. */
  async report(): Promise<void> {
    if (this.#joined) await this.#telling.request();
  }

  /** Call this when Redis has lost the reports. */
  forgotten(): void {
    this.#state = undefined;
    this.#holdings = '';
  }

  /** Never rejects. */
  async #tell(): Promise<void> {
    try {
      await this.#tellState();
      await this.#tellWork();
    } catch (error) {
      // The heartbeats already report that the broker cannot be reached.
      if (error instanceof BrokerUnavailableError) return;
      this.#options.events.emit('errors', { source: 'membership', error });
    }
  }

  async #tellState(): Promise<void> {
    const { broker, session, look, fleetEvents = false } = this.#options;
    const { holdings, starved = [], receivers = [], ...own } = look();
    const load = {
      ...own,
      ...(starved.length > 0 && { starved }),
      ...(fleetEvents && { fleetEvents }),
      ...(receivers.length > 0 && { receivers }),
    };
    this.#since ??= Math.floor(broker.now());
    const state = { since: this.#since, version: VERSION, clockOffset: Math.round(broker.now() - Date.now()), ...load };
    const text = JSON.stringify(holdings);
    const news = {
      state: isSame(state, this.#state) ? undefined : state,
      holdings: text === this.#holdings ? undefined : holdings,
    };
    if (!news.state && !news.holdings) return;
    if (!(await broker.records.report({ session, number: ++this.#number, ...news }))) return;
    this.#state = news.state ?? this.#state;
    this.#holdings = text;
  }

  async #tellWork(): Promise<void> {
    const { broker, history } = this.#options;
    const most = history ? MAX_REPORTED_WITH_HISTORY : MAX_REPORTED_TOPICS;
    const oldest = Math.floor(broker.now() / MINUTE) - MINUTES_KEPT;
    const untold = [...this.#meters.values()].flatMap((meter) => meter.untold).filter(({ minute }) => minute > oldest);
    for (const minute of new Set(untold.map((one) => one.minute))) {
      const all = untold.filter((one) => one.minute === minute);
      for (let begin = 0; begin < all.length; begin += most) {
        await this.#tellMinute(minute, all.slice(begin, begin + most));
      }
    }
  }

  async #tellMinute(minute: number, told: readonly MinuteOfWork[]): Promise<void> {
    const { broker, session, history } = this.#options;
    for (const one of told) one.untold = false;
    try {
      await broker.records.reportWork({
        session,
        number: ++this.#number,
        minute,
        work: told.map(({ work }) => work),
        history,
      });
    } catch (error) {
      for (const one of told) one.untold = true;
      throw error;
    }
  }
}

function isSame(state: ProcessState, told: ProcessState | undefined): boolean {
  return (
    told !== undefined &&
    state.concurrency === told.concurrency &&
    state.busy === told.busy &&
    state.waiting === told.waiting &&
    state.starved?.join() === told.starved?.join() &&
    JSON.stringify(state.receivers) === JSON.stringify(told.receivers) &&
    Math.abs(state.clockOffset - told.clockOffset) < CLOCK_STEP
  );
}
