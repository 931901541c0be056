import { fromStoredId } from '../../../lib/messages/stored-id.js';
import { numberedTokens } from '../../support/claim-record.js';
import { LEASE, isAtMostOnce } from '../fleet/topics.js';
import type { Process } from '../fleet/process.js';
import { type Handed, endedBy, handedOut } from './handed-out.js';
import type { WatchedCall } from './owner-rules.js';
import { type RuleOptions, type Run, TIMER_ERROR } from './run.js';

/** How late a call may begin by a limit of its key, in milliseconds: a process knows the clock of Redis as well as its calls are even. */
export const CLOCK_ERROR = 50;

/** How soon outcomes that a full Redis had no room for are there once it has, in milliseconds. */
const TRIED_AGAIN = 1000;

/** What a claim says that rules look at. */
interface ClaimGiven {
  readonly claimant: string;
  readonly sequence: number;
  readonly delivered: number;
  readonly room: number;
  readonly terms: string;
  readonly tokens: string;
  readonly rest: readonly string[];
}

interface SettleGiven extends Pick<ClaimGiven, 'sequence' | 'tokens' | 'rest'> {
  readonly answered: string;
}

interface Place {
  readonly owner: string;
  readonly inflight: string;
}

/** The latest delivery of a message. */
interface Held extends Handed {
  readonly token: string;
  readonly process: Process;
  readonly inflight: string;
  /** World time until which its call may begin. */
  readonly beginsUntil: number;
}

/** The latest claim of an owner. */
interface LatestClaim {
  readonly sequence: number;
  readonly ids: ReadonlySet<string>;
}

/** A claim hands out what it may, and what it hands out begins, and counts, while it is the latest delivery and its lease lasts. */
export class DeliveryRules {
  readonly #options: RuleOptions;
  readonly #held = new Map<string, Held>();
  readonly #claims = new Map<string, LatestClaim>();
  /** What runs in each process. */
  readonly #running = new Map<Process, Map<string, { readonly run: Run; readonly weight: number }>>();
  /** What has ended in each process after its lease, until its outcome is there. */
  readonly #overdue = new Map<Process, Map<string, Held>>();
  /** The calls that have settled something: one that is made again has the answer that it had. */
  readonly #settled = new Set<string>();
  #lostAt = -Infinity;

  constructor(options: RuleOptions) {
    this.#options = options;
  }

  // ── what is sent, and run ───────────────────────────────────────────────────────────────────────────────────────────

  /** @returns what the process has to settle before a claim that it sends now for the first time */
  sent(process: Process, { name, place, given }: WatchedCall): ReadonlySet<string> | undefined {
    const overdue = this.#overdue.get(process);
    if (name !== 'claim' || !overdue || overdue.size === 0) return undefined;
    const { claimant, sequence } = given as ClaimGiven;
    const known = this.#claims.get(claimant);
    // One that is sent again was sent first before that.
    if (!known || known.sequence >= sequence) return undefined;
    const { inflight } = place as Place;
    return new Set([...overdue.values()].filter((one) => one.inflight === inflight).map(({ id }) => id));
  }

  ran(process: Process, { name, place, given }: WatchedCall, reply: unknown, overdue?: ReadonlySet<string>): void {
    if (!Array.isArray(reply)) return;
    if (name === 'claim') {
      const { claimant, ...call } = given as ClaimGiven;
      this.#ended(process, { ...call, answered: claimant }, endedBy(reply));
      if (reply[0] === 1) this.#claimed(process, place as Place, given as ClaimGiven, reply, overdue);
    }
    if (name === 'settle') this.#ended(process, given as SettleGiven, String(reply[0]));
  }

  #claimed(
    process: Process,
    { inflight }: Place,
    given: ClaimGiven,
    reply: readonly unknown[],
    overdue: ReadonlySet<string> | undefined,
  ): void {
    const { claimant, sequence, delivered, room } = given;
    const [epoch] = claimant.split(' ');
    const handed = handedOut(reply);
    const latest = this.#claims.get(claimant);
    const isRepeat = latest?.sequence === sequence;
    const [first] = handed;
    if (first && latest && latest.sequence > sequence) {
      this.#violated('claim', `claim ${sequence} hands out ${first.id} after claim ${latest.sequence}`, first, process);
    }
    for (const one of handed) {
      if (isRepeat && !latest.ids.has(one.id)) {
        this.#violated('claim', `claim ${sequence} hands out ${one.id} when it is repeated`, one, process);
      }
      if (one.number <= delivered) {
        this.#violated('claim', `${one.id} has the number ${one.number} of an earlier delivery`, one, process);
      }
      if (overdue?.has(one.id) && this.#isOverdue(process, one.id, inflight)) {
        this.#violated('overtaken', `a claim overtakes what has become of ${one.id}`, one, process);
      }
    }
    const weight = handed.reduce((sum, one) => sum + one.weight, 0);
    if (first && !isRepeat && weight > room) {
      this.#violated('suspects', `a claim brings suspects that take ${weight}, with room for ${room}`, first, process);
    }
    if (!latest || latest.sequence < sequence) {
      this.#claims.set(claimant, { sequence, ids: new Set(handed.map(({ id }) => id)) });
    }
    const beginsUntil = this.#beginsUntil(given, reply);
    for (const one of handed) {
      // Who asks again has given its room to others.
      const taken = isRepeat ? 0 : one.weight;
      this.#held.set(one.id, {
        ...one,
        token: `${epoch}.${one.number}`,
        weight: taken,
        process,
        inflight,
        beginsUntil,
      });
    }
  }

  /** Whether it has an outcome that Redis could have by now. */
  #isOverdue(process: Process, id: string, inflight: string): boolean {
    const { world, server } = this.#options;
    const hadRoom = world.now > server.placement.of(inflight).fullUntil + TRIED_AGAIN;
    return hadRoom && this.#overdue.get(process)?.has(id) === true;
  }

  #beginsUntil({ terms }: ClaimGiven, reply: readonly unknown[]): number {
    const [, , beginsAt = 0, beginsIn = 0] = String(reply[6]).split(',').map(Number);
    const slack = Number(terms.split(' ')[6]);
    return beginsAt === 0 ? Infinity : this.#options.world.now + beginsIn + slack + CLOCK_ERROR;
  }

  #ended(process: Process, given: SettleGiven, digits: string): void {
    if (digits === '') return;
    const call = `${given.answered} ${given.sequence}`;
    for (const [i, token] of numberedTokens(given.tokens).entries()) {
      const { id } = fromStoredId(given.rest[i] as string);
      this.#overdue.get(process)?.delete(id);
      const held = this.#held.get(id);
      const hasCounted = ['1', '3'].includes(digits[i] as string);
      if (!held || !hasCounted || held.token === token || this.#settled.has(call)) continue;
      this.#violated('settle', `an outcome of an earlier delivery of ${id} counts`, held, process);
    }
    this.#settled.add(call);
  }

  // ── what runs ───────────────────────────────────────────────────────────────────────────────────────────────────────

  begin(process: Process, run: Run): void {
    const { id } = run;
    const running = this.#running.get(process) ?? new Map<string, { readonly run: Run; readonly weight: number }>();
    this.#running.set(process, running);
    const held = this.#held.get(id);
    const about = { id };
    // The id of what is gone once it is handed out may be that of another one.
    if (running.has(id) && !isAtMostOnce(run.topic))
      this.#violated('beside', `${id} is called beside its earlier call`, about, process);
    if (run.signal.aborted) this.#violated('begins', `${id} begins although its signal has aborted`, about, process);
    if (held) this.#assertBegins(process, held);
    running.set(id, { run, weight: held?.process === process ? held.weight : 0 });
    // Nobody waits for what goes on although it was told to end.
    const weight = [...running.values()].reduce((sum, one) => sum + (one.run.signal.aborted ? 0 : one.weight), 0);
    if (weight > WHOLE_ROOM) this.#violated('suspects', `suspects that take ${weight} run at once`, about, process);
  }

  #assertBegins(process: Process, held: Held): void {
    const { id, beginsUntil } = held;
    const { world } = this.#options;
    if (held.process !== process) {
      // What was claimed before that belonged to this process for as long as it can know.
      if (world.now < this.#lostAt + LEASE) return;
      return this.#violated('begins', `${id} begins although ${held.process.name} has claimed it since`, held, process);
    }
    if (this.#isLeaseOver(held)) this.#violated('begins', `${id} begins after the end of its lease`, held, process);
    if (world.now > beginsUntil) {
      const late = Math.round(world.now - beginsUntil + CLOCK_ERROR);
      this.#violated('begins', `${id} begins ${late} ms later than its key allows`, held, process);
    }
  }

  end(process: Process, { id }: Run): void {
    this.#running.get(process)?.delete(id);
    const held = this.#held.get(id);
    if (held?.process !== process || !this.#isLeaseOver(held)) return;
    const overdue = this.#overdue.get(process) ?? new Map<string, Held>();
    this.#overdue.set(process, overdue.set(id, held));
  }

  #isLeaseOver({ inflight, storedId }: Held): boolean {
    const { server } = this.#options;
    const endsAt = server.data.call('ZSCORE', inflight, storedId);
    return endsAt !== null && Number(endsAt) < server.now() - TIMER_ERROR;
  }

  /** Redis has forgotten what it has handed out, or its leases end at other times. */
  redisLost(): void {
    this.#lostAt = this.#options.world.now;
    this.#held.clear();
    this.#claims.clear();
    this.#overdue.clear();
  }

  #violated(rule: string, text: string, { id }: { readonly id: string }, process: Process): void {
    this.#options.violated(rule, text, [id, process.name]);
  }
}

/** All the room that suspects have in a process. */
const WHOLE_ROOM = 16;
