import type { EventSink } from '../../events/queue-events.interface.js';
import type { Log } from '../../log.js';
import type { Clock } from '../../time/clock.js';
import { isError } from '../../checks/kinds.js';
import { MAX_DELAY } from '../../checks/limits.js';
import { firstLine, quoted } from '../../log.js';
import { Loop } from '../../time/loop.js';
import { PUBLISH, RESCHEDULE, type OutboxRow } from '../table/outbox-row.js';
import type { Batch, HeldShard, OutboxTable, ShardState } from '../table/outbox-table.js';
import type { BatchSender, RefusedRow } from './batch-sender.js';

/** Time for which a shard belongs to its relay without a sign of it, in milliseconds. */
export const LEASE = 10_000;

/** Time after which a shard is looked at even if nobody has told of a commit, in milliseconds. */
const POLL = 1000;

/** Pauses between failures, in milliseconds. */
const FIRST_PAUSE = 50;
const LONGEST_PAUSE = 2000;

/** Most rows of a batch: as many as one call to Redis takes, since a call that had to be split would have other names. */
const MOST_ROWS = 200;

/** Most characters of a batch, unless one row has more. */
const MOST_CHARACTERS = 500_000;

/** How long before its due time a message is looked after, in milliseconds: a change behind it may come too late. */
const AHEAD = 60_000;

export interface ShardRelayOptions {
  readonly table: OutboxTable;
  readonly sender: Pick<BatchSender, 'send'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventSink;
  /** Returns the time of Redis, in epoch milliseconds. */
  readonly redisNow: () => number;
  /** Called if another process has taken the shard. */
  readonly onLost: (shard: number) => void;
}

/**
 * Brings the rows of one shard to Redis, in their order. Each batch is recorded in the database before it is sent, and its rows are removed
 * only once Redis has confirmed it: a relay that finds the record sends the same rows under the same name, and Redis does nothing twice. Redis
 * is never called within a transaction, so that an outage of it holds up no user's writes.
 */
export class ShardRelay {
  readonly #options: ShardRelayOptions;
  readonly #held: HeldShard;
  readonly #caller: string;
  readonly #turns: Loop;
  /** Batch that was recorded by the relay before, until it is sent. */
  #inherited: ShardState['batch'] | undefined;
  /** Batch that is recorded, and not known to be done. */
  #open: Batch | undefined;
  #sequence = 0;
  #pause = 0;

  constructor(options: ShardRelayOptions, { shard, epoch, batch }: ShardState, owner: string) {
    this.#options = options;
    this.#held = { shard, epoch, owner };
    // A name of its own each time it is taken: a database that was restored must not meet answers to later batches.
    this.#caller = `${owner}:${shard}:${epoch}`;
    this.#inherited = batch.seqs.length > 0 ? batch : undefined;
    this.#turns = new Loop({ clock: options.clock, run: () => this.#turn() });
  }

  get epoch(): string {
    return this.#held.epoch;
  }

  /** Looks for rows now. */
  wake(): void {
    this.#turns.poke();
  }

  /** Resolves once the turn under way has ended. */
  async stop(): Promise<void> {
    await this.#turns.stop();
  }

  /**
   * Never rejects.
   *
   * @returns time until the next turn, in milliseconds
   */
  async #turn(): Promise<number> {
    try {
      this.#open ??= await this.#nextBatch();
      if (!this.#open) return POLL;
      await this.#relay(this.#open);
      this.#open = undefined;
      if (this.#pause > 0) this.#options.log.log(`The outbox relays again (shard ${this.#held.shard})`);
      this.#pause = 0;
      return 0;
    } catch (error) {
      return this.#putOff(error);
    }
  }

  /** Returns a batch that is recorded; `undefined` if there is nothing to send. */
  async #nextBatch(): Promise<Batch | undefined> {
    const { table, onLost } = this.#options;
    const { shard } = this.#held;
    if (this.#inherited) {
      const { seqs, ...name } = this.#inherited;
      const rows = await table.rowsOf(shard, seqs);
      this.#inherited = undefined;
      // If some are gone it was done, and what is left of it was refused: in a call of fewer, others would answer for them.
      if (rows.length === seqs.length) return { ...name, rows };
    }
    const rows = await this.#nextRows();
    if (rows.length === 0) return undefined;
    const batch = { caller: this.#caller, sequence: ++this.#sequence, rows };
    if (await table.record(this.#held, batch, LEASE)) return batch;
    void this.#turns.stop();
    onLost(shard);
    return undefined;
  }

  async #nextRows(): Promise<OutboxRow[]> {
    const rows = await this.#options.table.next(this.#held.shard, MOST_ROWS);
    let characters = 0;
    const end = rows.findIndex(({ body = '' }) => (characters += body.length) > MOST_CHARACTERS);
    return end === -1 ? rows : rows.slice(0, Math.max(1, end));
  }

  async #relay(batch: Batch): Promise<void> {
    const { table, sender } = this.#options;
    const refused = await sender.send({ ...batch, rows: await this.#dated(batch.rows) });
    const isRefused = new Set(refused.map(({ row }) => row.seq));
    // In this order: what is left after a crash in between is sent again, and refused again.
    await table.remove(
      this.#held,
      batch.rows.filter(({ seq }) => !isRefused.has(seq)),
    );
    for (const one of refused) await this.#setAside(one);
  }

  async #setAside({ row, error }: RefusedRow): Promise<void> {
    const { table, log, events } = this.#options;
    const { seq, topic, id } = row;
    log.error(
      `Row ${seq} of the outbox (message ${quoted(id)} of topic '${topic}') is refused and set aside: ${firstLine(error.message)}`,
    );
    events.emit('errors', { source: 'outbox', topic, id, error });
    await table.setAside(this.#held, row, error.message);
  }

  /**
   * Puts off messages that are due before what was done to them since would reach Redis: a message whose cancel is in the outbox too must not
   * be delivered, however long Redis was away.
   */
  async #dated(rows: readonly OutboxRow[]): Promise<readonly OutboxRow[]> {
    const soon = this.#options.redisNow() + AHEAD;
    const urgent = rows.filter(({ kind, dueAt = 0 }) => kind === PUBLISH && dueAt < soon);
    if (urgent.length === 0) return rows;
    const changes = await this.#options.table.changesOf(this.#held.shard, urgent);
    if (changes.length === 0) return rows;
    const latest = new Map(changes.map((change) => [nameOf(change), change]));
    return rows.map((row) => {
      const change = row.kind === PUBLISH ? latest.get(nameOf(row)) : undefined;
      if (!change || BigInt(change.seq) < BigInt(row.seq)) return row;
      return { ...row, dueAt: change.kind === RESCHEDULE ? change.dueAt : soon + MAX_DELAY - AHEAD };
    });
  }

  #putOff(error: unknown): number {
    const { log, events } = this.#options;
    events.emit('errors', { source: 'outbox', error });
    if (this.#pause === 0) {
      const reason = isError(error) ? firstLine(error.message) : String(error);
      log.warn(`The outbox waits (shard ${this.#held.shard}): ${reason}`);
    }
    this.#pause = Math.min(Math.max(FIRST_PAUSE, this.#pause * 2), LONGEST_PAUSE);
    return this.#pause;
  }
}

/** Names a message as it is named in a table. */
function nameOf({ topic, id, key = id }: OutboxRow): string {
  return `${topic}\0${id}\0${key}`;
}
