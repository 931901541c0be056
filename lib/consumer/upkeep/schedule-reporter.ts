import type { Partition } from '../../store/partition.js';
import { BrokerUnavailableError } from '../../errors/operation.errors.js';
import { SerializationError } from '../../errors/publishing.errors.js';
import { counted, quoted } from '../../log.js';
import type { MissedOccurrences } from '../../schedules/catch-up.js';
import { occurrenceId } from '../../schedules/schedule-record.js';
import { toDate } from '../../time/date.js';
import type { ConsumerContext } from '../consumer-context.js';

/** Reports on the schedules of a partition in events and in the log. */
export class ScheduleReporter {
  readonly #context: ConsumerContext;
  readonly #partition: Partition;
  /** Whether the broker could not be reached at the latest look; one warning is enough. */
  #waits = false;

  constructor(context: ConsumerContext, partition: Partition) {
    this.#context = context;
    this.#partition = partition;
  }

  /** @param duplicate whether a message with its id existed and was left unchanged */
  published(schedule: string, time: number, duplicate: boolean): void {
    const { topic, index: partition } = this.#partition;
    const id = occurrenceId(schedule, time);
    this.#context.events.emit('published', { id, topic, partition, dueAt: toDate(time), duplicate });
  }

  /** @param missed `undefined` if there are none */
  missed(schedule: string, reason: 'outage' | 'overlap', missed: MissedOccurrences | undefined): void {
    if (!missed) return;
    const { topic, index: partition } = this.#partition;
    const [first, last] = [toDate(missed.first), toDate(missed.last)];
    if (reason === 'outage') {
      this.#context.log.warn(
        `Schedule ${quoted(schedule)} of topic '${topic}' has missed ${counted(missed.count, 'occurrence')} from ` +
          `${first.toISOString()} on, since no process published then`,
      );
    }
    const occurrences = missed.count;
    this.#context.events.emit('missed', { schedule, topic, partition, reason, occurrences, first, last });
  }

  /**
   * Reports that another program has changed the stored data.
   *
   * @param repaired number of repaired entries
   * @param damaged schedules that publish nothing any more
   */
  damage(repaired: number, damaged: readonly string[]): void {
    const { log } = this.#context;
    const { topic, index } = this.#partition;
    if (repaired > 0) {
      log.warn(
        `Repaired ${repaired} entries of schedules of topic '${topic}', partition ${index}, that were missing, or had a wrong time or no schedule`,
      );
    }
    for (const id of damaged) {
      const error = new SerializationError('Another program has written over it');
      this.#tellAside(id, 'publishes nothing until it is stored again', error);
    }
  }

  /** Reports the removal of a schedule that was left over when it was stored for another topic. */
  removed(schedule: string, other: string): void {
    this.#context.log.warn(
      `Schedule ${quoted(schedule)} of topic '${this.#partition.topic}' was left over and is removed: it belongs to topic '${other}'`,
    );
  }

  /** Reports a schedule that cannot be served; another process, another rule or another look may help. */
  setAside(schedule: string, error: Error): void {
    this.#tellAside(schedule, 'is tried again at least every five minutes', error);
  }

  #tellAside(schedule: string, consequence: string, error: Error): void {
    const { topic } = this.#partition;
    this.#context.log.error(
      `Schedule ${quoted(schedule)} of topic '${topic}' is set aside, and ${consequence}: ${error.message}`,
    );
    this.#tellError(error);
  }

  /** Reports that schedules wait because the broker does not serve. */
  failed(error: unknown): void {
    const { log } = this.#context;
    const text = `Schedules of topic '${this.#partition.topic}' wait: ${(error as Error).message}`;
    if (!(error instanceof BrokerUnavailableError)) log.error(text, (error as Error).stack);
    else if (!this.#waits) log.warn(text);
    this.#waits = true;
    this.#tellError(error);
  }

  served(): void {
    this.#waits = false;
  }

  #tellError(error: unknown): void {
    const { topic, index: partition } = this.#partition;
    this.#context.events.emit('errors', { source: 'schedule', topic, partition, error });
  }
}
