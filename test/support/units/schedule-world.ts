import type { Broker } from '../../../lib/store/broker.interface.js';
import { ownerOf } from '../../../lib/store/fleet/owner.js';
import type { Partition } from '../../../lib/store/partition.js';
import { EmbeddedBroker } from '../../../lib/engines/embedded/embedded.broker.js';
import { type BrokerCall, wrapBroker } from '../../../lib/store/wrap-broker.js';
import { ScheduleRunner } from '../../../lib/consumer/upkeep/schedule-runner.js';
import type { QueueEvents } from '../../../lib/events/queue-events.interface.js';
import { encodeEnvelope } from '../../../lib/messages/envelope.js';
import { StoredMessages } from '../../../lib/testing/test-backend.js';
import { fromStoredId } from '../../../lib/messages/stored-id.js';
import { type StoredRule } from '../../../lib/schedules/recurrence.js';
import {
  type DefinedSchedule,
  encodeDefinition,
  encodeState,
  readSchedule,
} from '../../../lib/schedules/schedule-record.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { testContext } from './handling.js';

export const PARTITION: Partition = { topic: 'jobs', index: 0 };
export const OWNER = ownerOf('epoch', 'me');
export const SECOND = 1000;
export const START = Date.UTC(2026, 0, 1);

export type Event = { [K in keyof QueueEvents]: { readonly kind: K } & QueueEvents[K] }[keyof QueueEvents];

/** A partition in memory, owned by `me`, and what runs its schedules. */
export class ScheduleWorld {
  readonly clock = new ManualClock(START);
  readonly embedded = new EmbeddedBroker(this.clock);
  readonly events: Event[] = [];
  readonly lines: string[] = [];
  readonly calls: string[] = [];
  readonly lost: unknown[] = [];
  /** What is done in the place of a call. */
  instead: (call: BrokerCall) => Promise<unknown> = async ({ run }) => run();
  readonly broker: Broker = wrapBroker(this.embedded, async (call) => {
    this.calls.push(call.operation);
    return this.instead(call);
  });
  readonly #runners: ScheduleRunner[] = [];
  #writes = 0;

  async start(owner = OWNER): Promise<ScheduleRunner> {
    const note = (text: string): void => void this.lines.push(text);
    const context = testContext({
      clock: this.clock,
      broker: this.broker,
      log: { log: note, warn: note, error: note },
      events: {
        wants: () => true,
        emit: (kind, event) => void this.events.push({ kind, ...event } as Event),
      },
    });
    const onLost = (stored: unknown): void => void this.lost.push(stored);
    const runner = new ScheduleRunner({ context, partition: PARTITION, order: undefined, owner, onLost });
    this.#runners.push(runner);
    runner.start();
    await this.clock.advance(0);
    return runner;
  }

  /** The next occurrence is not published; or it is, and nobody hears of it. */
  failOnce(error: Error, { lostReply = false } = {}): void {
    let failures = 1;
    this.instead = async (call) => {
      const fails = call.operation === 'publishOccurrence' && failures-- > 0;
      const answer = fails && !lostReply ? undefined : await call.run();
      if (fails) throw error;
      return answer;
    };
  }

  async own(): Promise<void> {
    await this.embedded.fleet.acquire(PARTITION, OWNER, undefined);
  }

  async store(id: string, rule: StoredRule, given: Partial<DefinedSchedule> = {}, next?: number): Promise<void> {
    const definition = encodeDefinition({
      rule,
      catchUp: 'latest',
      overlap: 'allow',
      key: id,
      declared: false,
      ...given,
    });
    const state = encodeState({ paused: false, next, last: undefined, missed: 0 });
    const content = { definition, envelope: encodeEnvelope({ payload: id, publishedAt: START }) };
    await this.embedded.schedules.putSchedule(
      PARTITION,
      { caller: 'test', sequence: ++this.#writes },
      { id, expected: undefined, state, content, nextAt: next },
    );
  }

  async stateOf(id: string) {
    const [found] = await this.embedded.schedules.getSchedules(PARTITION, [id]);
    return found && readSchedule(found).state;
  }

  /** The ids of what was published, in order of due time. */
  get published(): string[] {
    return new StoredMessages(this.embedded)
      .list(PARTITION.topic, 'scheduled')
      .map(({ stored }) => fromStoredId(stored.storedId).id);
  }

  of<K extends Event['kind']>(kind: K): Extract<Event, { kind: K }>[] {
    return this.events.filter((event): event is Extract<Event, { kind: K }> => event.kind === kind);
  }
}

export async function world(): Promise<ScheduleWorld> {
  const made = new ScheduleWorld();
  await made.embedded.fleet.configure(PARTITION.topic, 1);
  await made.own();
  return made;
}

export function every(seconds: number): StoredRule {
  return { every: seconds * SECOND, anchor: START, startAt: undefined, endAt: undefined };
}

export function second(n: number): string {
  return `tick@${new Date(START + n * SECOND).toISOString()}`;
}
