import type { EventSink } from '../../events/queue-events.interface.js';
import type { Log } from '../../log.js';
import type { Clock } from '../../time/clock.js';
import { MAX_DELAY } from '../../checks/limits.js';
import { errorLine, quoted } from '../../log.js';
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
  /** Rows that Redis has confirmed, until they are removed. */
  #done: readonly OutboxRow[] = [];
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

  /** Resolves once the turn under way has ended. Never rejects. */
  async stop(): Promise<void> {
    await this.#turns.stop();
    const done = this.#done;
    this.#done = [];
    try {
      await this.#options.table.remove(this.#held, done);
    } catch {
      // The next relay finds their batch recorded, and sends it again.
    }
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
      // There may be more, and the next turn removes what is done.
      this.wake();
      if (this.#pause > 0) this.#options.log.log(`The outbox relays again (shard ${this.#held.shard})`);
      this.#pause = 0;
      return POLL;
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
    // Another one each time: a batch whose recording has failed may be recorded all the same.
    const name = { caller: this.#caller, sequence: ++this.#sequence };
    const rows = await table.advance(this.#held, this.#done, name, LEASE);
    this.#done = [];
    if (!rows) {
      void this.#turns.stop();
      onLost(shard);
      return undefined;
    }
    return rows.length > 0 ? { ...name, rows } : undefined;
  }

  async #relay(batch: Batch): Promise<void> {
    const { table, sender } = this.#options;
    const refused = await sender.send({ ...batch, rows: await this.#dated(batch.rows) });
    if (refused.length === 0) {
      this.#done = batch.rows;
      return;
    }
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
      `Row ${seq} of the outbox (message ${quoted(id)} of topic '${topic}') is refused and set aside: ${errorLine(error)}`,
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
    if (this.#pause === 0) log.warn(`The outbox waits (shard ${this.#held.shard}): ${errorLine(error)}`);
    this.#pause = Math.min(Math.max(FIRST_PAUSE, this.#pause * 2), LONGEST_PAUSE);
    return this.#pause;
  }
}

/** Names a message as it is named in a table. */
function nameOf({ topic, id, key = id }: OutboxRow): string {
  return `${topic}\0${id}\0${key}`;
}
