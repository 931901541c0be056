import { enumerate } from '../../checks/describe.js';
import { quoted } from '../../log.js';
import { Loop } from '../../time/loop.js';
import type { AbandonedRuns } from '../../fleet/abandoned-run.interface.js';
import type { ConsumerContext } from '../consumer-context.js';
import type { Delivery } from './delivery.js';

/** Time that a handler has to heed its signal before its run counts as abandoned, in milliseconds. */
const GRACE = 1000;

/** Most runs that a report names. */
const MAX_NAMED = 20;

/** Times are epoch milliseconds on the local clock. */
interface OverdueCall {
  readonly topic: string;
  readonly handler: string;
  readonly ids: readonly string[];
  readonly startedAt: number;
  /** End of its time limit. */
  readonly timeUpAt: number;
}

/** Tracks the handler calls of this process that still run although their time is up, and logs each of them once. */
export class AbandonedCalls {
  readonly #context: Pick<ConsumerContext, 'clock' | 'log'>;
  readonly #looks: Loop;
  /** Calls within their grace, in the order in which their time was up. Most handlers heed their signal, so most calls end here. */
  readonly #ending = new Set<OverdueCall>();
  /** Abandoned calls, in the order in which their time was up. */
  readonly #abandoned = new Set<OverdueCall>();

  constructor(context: Pick<ConsumerContext, 'clock' | 'log'>) {
    this.#context = context;
    this.#looks = new Loop({ clock: context.clock, run: () => this.#look() });
  }

  /**
   * Tracks a call whose time is up now; resolves once it has ended.
   *
   * @param deliveries those of the call, at least one
   * @param handler its name
   * @param ended never rejects
   */
  async follow(deliveries: readonly Delivery[], handler: string, ended: Promise<unknown>): Promise<void> {
    const { partition, startedAt } = deliveries[0] as Delivery;
    const timeUpAt = this.#context.clock.now();
    const call: OverdueCall = {
      topic: partition.topic,
      handler,
      ids: deliveries.map(({ id }) => id),
      startedAt: startedAt ?? timeUpAt,
      timeUpAt,
    };
    this.#ending.add(call);
    this.#looks.later(GRACE);
    await ended;
    this.#ending.delete(call);
    this.#abandoned.delete(call);
  }

  /** Returns the number of abandoned runs of a topic. */
  count(topic: string): number {
    let count = 0;
    for (const call of this.#abandoned) if (call.topic === topic) count++;
    return count;
  }

  get report(): AbandonedRuns {
    const now = this.#context.clock.now();
    const oldest = [...this.#abandoned].slice(0, MAX_NAMED).map(({ timeUpAt, startedAt, ...call }) => ({
      ...call,
      startedAt: new Date(startedAt),
      overtime: Math.round(now - timeUpAt),
    }));
    return { count: this.#abandoned.size, oldest };
  }

  /** Logs nothing more. */
  async close(): Promise<void> {
    await this.#looks.stop();
  }

  /** @returns time until the grace of the next call is over, in milliseconds */
  #look(): number | undefined {
    const now = this.#context.clock.now();
    for (const call of this.#ending) {
      const grace = call.timeUpAt + GRACE - now;
      if (grace > 0) return grace;
      this.#ending.delete(call);
      this.#abandoned.add(call);
      this.#tell(call);
    }
    return undefined;
  }

  #tell({ topic, handler, ids, startedAt, timeUpAt }: OverdueCall): void {
    const isOne = ids.length === 1;
    this.#context.log.warn(
      `${handler} goes on with ${isOne ? 'message' : 'messages'} ${enumerate(ids.map(quoted))} of topic '${topic}' although ` +
        `its time was up after ${Math.round(timeUpAt - startedAt)} ms. It was called at ${new Date(startedAt).toISOString()}, ` +
        `its slot is free, and nothing can stop it. Until it ends, this process does not call it with ` +
        `${isOne ? 'this message' : 'these messages'} again. Have it heed message.signal.`,
    );
  }
}
