import type { Process } from '../fleet/process.js';
import type { RuleOptions } from './run.js';

/** A process whose heartbeat Redis has had for at most so long when another one looks, in milliseconds, is alive for that one. */
const JUST_HEARD = 1500;

/** By so many looks over one connection it has to be alive, since the answer to the latest may be on its way. */
const LOOKS = 2;

/** Who has owned a partition for so long is known to all as its owner, in milliseconds. */
const SETTLED = 5000;

export interface WatchedCall {
  readonly name: string;
  readonly place: object;
  readonly given: object;
}

/** Which processes one has found alive, and when; world time. */
interface Look {
  readonly at: number;
  readonly found: ReadonlySet<Process>;
}

/** Only the owner of a partition claims, and none that lives is replaced. */
export class OwnerRules {
  readonly #options: RuleOptions;
  readonly #processes = new Map<string, Process>();
  readonly #ownedSince = new Map<string, number>();
  /** What each process has sent of its own session last. */
  readonly #beats = new Map<Process, { readonly text: string; readonly at: number }>();
  /** Which heartbeats the latest looks of a process have found, the latest look last. */
  readonly #looks = new Map<Process, Look[]>();

  constructor(options: RuleOptions) {
    this.#options = options;
  }

  watch(process: Process, { name, place, given }: WatchedCall, run: () => unknown): unknown {
    if (name === 'hset') this.#beat(process, (given as readonly string[]).join(' '));
    if (name === 'hgetall') this.#look(process);
    if (name !== 'acquire' && name !== 'claim') return run();
    const { owner: key } = place as { readonly owner: string };
    const before = this.#options.server.data.call('GET', key) as string | null;
    const reply = run() as readonly unknown[];
    if (reply[0] !== 1) return reply;
    if (name === 'claim') this.#claimed((given as { claimant: string }).claimant, before ?? '', key);
    else this.#acquired((given as { new_owner: string }).new_owner, before ?? '', process, key);
    return reply;
  }

  /** Whose a partition is by what is stored, if that is known. */
  ownerOf(key: string): Process | undefined {
    return this.#processes.get(this.#options.server.data.call('GET', key) as string);
  }

  /** Heartbeats may be among what Redis has lost: a partition then changes hands. */
  redisLost(): void {
    this.#beats.clear();
    this.#looks.clear();
  }

  #claimed(claimant: string, owner: string, key: string): void {
    if (claimant !== owner) this.#options.violated('owner', `${claimant} claims from ${key} of ${owner}`, [key]);
  }

  #acquired(next: string, before: string, process: Process, key: string): void {
    const { world, violated } = this.#options;
    const holder = this.#processes.get(before);
    const since = this.#ownedSince.get(before) ?? Infinity;
    this.#processes.set(next, process);
    this.#ownedSince.set(next, world.now);
    if (!holder || holder === process || world.now - since < SETTLED) return;
    if (holder.isDead || holder.isFrozen || !holder.connection) return;
    const looks = this.#looks.get(process) ?? [];
    if (looks.length < LOOKS || looks.some(({ at, found }) => at <= process.link.lostAt || !found.has(holder))) return;
    violated('owner', `${process.name} takes ${key} from ${holder.name}, which lives`, [
      key,
      process.name,
      holder.name,
    ]);
  }

  /** One that is sent once more says nothing new, nor does one that says that another process has left. */
  #beat(process: Process, text: string): void {
    if (text.endsWith(' left') || this.#beats.get(process)?.text === text) return;
    this.#beats.set(process, { text, at: this.#options.world.now });
  }

  #look(process: Process): void {
    const { now } = this.#options.world;
    const found = new Set([...this.#beats].filter(([, { at }]) => at >= now - JUST_HEARD).map(([one]) => one));
    this.#looks.set(process, [...(this.#looks.get(process) ?? []), { at: now, found }].slice(-LOOKS));
  }
}
