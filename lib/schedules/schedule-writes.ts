import type { Broker } from '../store/broker.interface.js';
import type { CallId, Partition } from '../store/partition.js';
import type { ScheduleWrite } from '../store/schedules/schedule-records.js';
import type { ChangeLane } from '../store/calls/change-lane.js';
import type { Lanes } from '../store/calls/lanes.js';
import { namedCall } from '../store/calls/named-call.js';
import { BrokerUnavailableError } from '../errors/operation.errors.js';
import type { CheckedSchedule } from './check-schedule.js';
import { type PlacedSchedule, type PlacedSchedules, readable } from './placed-schedules.js';
import { Recurrence } from './recurrence.js';
import {
  type DefinedSchedule,
  type ScheduleRecord,
  type ScheduleState,
  encodeDefinition,
  encodeState,
  isSameContent,
} from './schedule-record.js';
import { anchorOf, startedState } from './starting-state.js';

/** Most tries to change a schedule that others change at the same time. */
const MAX_TRIES = 50;

export interface WrittenSchedule {
  readonly record: ScheduleRecord;
  /** Schedule before the write; `undefined` if there was none, or it has the same rule. */
  readonly before: ScheduleRecord | undefined;
}

/** Writes schedules, each time based on the state that it has seen, so that no change of others is lost. */
export class ScheduleWrites {
  readonly #store: Pick<Broker, 'schedules'>;
  readonly #found: PlacedSchedules;
  readonly #lanes: Lanes<ChangeLane>;

  constructor(store: Pick<Broker, 'schedules'>, found: PlacedSchedules, lanes: Lanes<ChangeLane>) {
    this.#store = store;
    this.#found = found;
    this.#lanes = lanes;
  }

  /** Writes a schedule unless it is up to date. */
  async put(partition: Partition, checked: CheckedSchedule, declared: boolean): Promise<WrittenSchedule> {
    const { id, key, catchUp, overlap, envelope } = checked;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const [found] = await this.#found.serve(() => this.#store.schedules.getSchedules(partition, [id]));
      const known = readable(found);
      const now = this.#found.now(partition);
      const rule = checked.rule(anchorOf(known) ?? now);
      const others = known?.others;
      const defined: DefinedSchedule = { rule, catchUp, overlap, key, declared, ...(others && { others }) };
      const content = { definition: encodeDefinition(defined), envelope };
      const isSameRule = known && JSON.stringify(known.rule) === JSON.stringify(rule);
      if (isSameRule && isSameContent(known.stored, content) && found?.nextAt === known.state.next)
        return { record: known, before: undefined };
      const next = isSameRule ? known.state : startedState(Recurrence.of(rule), known, now);
      const state = encodeState(next);
      const write = { id, expected: found?.state, state, content, nextAt: next.next };
      if (await this.#write(partition, write)) {
        const record = { ...defined, id, state: next, stored: { id, state, ...content } };
        return { record, before: isSameRule ? undefined : known };
      }
    }
    throw changesTooOften(id);
  }

  /**
   * Writes a schedule even if its state stays the same, so that an earlier call that was given up finds a state that it has not seen.
   *
   * @param operation name of the change, under which it can be repeated
   * @returns the schedule as it was
   */
  async change(
    id: string,
    change: (record: ScheduleRecord, now: number) => ScheduleState,
    operation?: string,
  ): Promise<PlacedSchedule | undefined> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const found = await this.#found.find(id);
      if (!found) return undefined;
      const { record, partition } = found;
      const next = change(record, this.#found.now(partition));
      const write = { id, expected: record.stored.state, state: encodeState(next), nextAt: next.next };
      const named = operation === undefined ? undefined : namedCall(operation, `${id} ${tries}`);
      if (await this.#write(partition, write, named)) return found;
    }
    throw changesTooOften(id);
  }

  #write({ topic, index }: Partition, write: ScheduleWrite, named?: CallId): Promise<boolean> {
    const lane = this.#lanes.get(topic, index);
    return lane.send((partition, call) => this.#store.schedules.putSchedule(partition, named ?? call, write));
  }
}

function changesTooOften(id: string): BrokerUnavailableError {
  return new BrokerUnavailableError(
    `Schedule '${id}' changes too often to be changed; nothing was changed. Try again.`,
  );
}
