import { fromStoredId } from '../../../lib/messages/stored-id.js';
import type { Process } from '../fleet/process.js';
import type { Server } from '../redis/server.js';
import { type Handed, endedBy, handedOut } from './handed-out.js';
import type { WatchedCall } from './owner-rules.js';
import type { IsLost } from './run.js';

/** Who handed something out, or ended it, and of which partition. */
export interface ServerCall {
  readonly process: Process;
  readonly topic: string;
  /** Topic and number. */
  readonly partition: string;
  readonly call: WatchedCall;
}

/** What a claim has handed out. */
export interface Claim extends ServerCall, Handed {
  /** Whether it is gone by that. */
  readonly isGone: boolean;
}

/** An end of a delivery that counts. */
export interface Settle extends ServerCall {
  readonly id: string;
  readonly key: string;
  /** The letter of what has become of it, as `settle.lua` has it. */
  readonly outcome: string;
  /** Milliseconds; `NaN`: of no delay. */
  readonly delay: number;
  /** JSON, or nothing. */
  readonly failure: string;
  /** Whether it was replaced, or cancelled. */
  readonly isAnother: boolean;
}

/** What a publish has made of a message that may be there already. */
export interface Publish extends ServerCall {
  readonly id: string;
  /** When it is due by the clock of Redis, if the answer says so. */
  readonly dueAt: number | undefined;
  readonly isStored: boolean;
}

/** Told of what scripts have done, once each. */
export interface ServerListener {
  claimed?(claim: Claim): void;
  settled?(settle: Settle): void;
  published?(publish: Publish): void;
  /** Any other script, or command. */
  ran?(call: ServerCall, reply: readonly unknown[]): void;
  /** @param since world time */
  redisLost?(since: number, isLost: IsLost): void;
}

/** What stands before the topic and the number of a partition in its keys. */
const TAG = '{dq:';

/** Tells of what scripts do at the server, in the order in which they do it. */
export class ServerCalls {
  readonly #server: Server;
  readonly #listeners: readonly ServerListener[];

  constructor(server: Server, listeners: readonly ServerListener[]) {
    this.#server = server;
    this.#listeners = listeners;
  }

  /** To be asked before it is run: whether Redis knows its answer, since it has run it before. */
  isRepeat({ name, place, given }: WatchedCall): boolean {
    const {
      answered,
      claimant = '',
      sequence,
    } = given as Record<'answered' | 'claimant' | 'sequence', string | undefined>;
    const { data } = this.#server;
    if (answered !== undefined) return isAbout(data.call('GET', answered), `#${sequence} `);
    if (name !== 'claim') return false;
    const latest = data.call('HGET', (place as { meta: string }).meta, 'claim');
    return isAbout(latest, `${claimant.split(' ')[0]} ${sequence} `);
  }

  ran(process: Process, call: WatchedCall, reply: unknown): void {
    const { owner: key } = call.place as { readonly owner?: string };
    if (key === undefined || !Array.isArray(reply)) return;
    const partition = key.slice(TAG.length, key.lastIndexOf('}'));
    const topic = partition.slice(0, partition.lastIndexOf(':'));
    const about = { process, topic, partition, call };
    if (call.name === 'claim') {
      for (const one of settlesOf(about, endedBy(reply), 'a')) this.#tell('settled', one);
      for (const one of claimsOf(about, reply)) this.#tell('claimed', one);
    } else if (call.name === 'settle') {
      const { outcomes } = call.given as { outcomes: string };
      for (const one of settlesOf(about, String(reply[0]), outcomes)) this.#tell('settled', one);
    } else if (call.name === 'publish') for (const one of publishesOf(about, reply)) this.#tell('published', one);
    else for (const listener of this.#listeners) listener.ran?.(about, reply);
  }

  #tell<N extends 'claimed' | 'settled' | 'published'>(
    name: N,
    what: Parameters<Required<ServerListener>[N]>[0],
  ): void {
    for (const listener of this.#listeners)
      (listener[name] as ((one: typeof what) => void) | undefined)?.call(listener, what);
  }

  redisLost(since: number, isLost: IsLost): void {
    for (const listener of this.#listeners) listener.redisLost?.(since, isLost);
  }
}

function isAbout(memory: unknown, call: string): boolean {
  return typeof memory === 'string' && memory.startsWith(call);
}

function* claimsOf(about: ServerCall, reply: readonly unknown[]): Generator<Claim> {
  const isGone = (about.call.given as { lease: number }).lease === 0;
  for (const one of handedOut(reply)) yield { ...about, ...one, isGone };
}

function* settlesOf(about: ServerCall, digits: string, outcomes: string): Generator<Settle> {
  const { rest } = about.call.given as { rest: readonly (string | number)[] };
  let detail = digits.length;
  for (let n = 0; n < digits.length; n++) {
    const { id, key } = fromStoredId(String(rest[n]));
    const outcome = outcomes.length === 1 ? outcomes : (outcomes[n] as string);
    const [delay, failure] = outcome === 'a' ? [] : [rest[detail], rest[detail + 1]];
    if (outcome !== 'a') detail += 2;
    const status = digits[n];
    if (status === '0' || status === '4') continue;
    yield { ...about, id, key, outcome, delay: Number(delay), failure: String(failure), isAnother: status !== '1' };
  }
}

function* publishesOf(about: ServerCall, reply: readonly unknown[]): Generator<Publish> {
  const { rest, columns } = about.call.given as { rest: readonly string[]; columns: string };
  const [, statuses = '', kept = ''] = String(reply[0]).split(' ');
  const dues = kept.split(',').values();
  const waits = columns.split('\n')[3]?.split(',') ?? [];
  for (let n = 0; 2 * n < rest.length; n++) {
    const isStored = ['1', '4', undefined].includes(statuses[n]);
    const dueAt = !isStored || Number(waits[n] ?? -1) >= 0 ? Number(dues.next().value) : undefined;
    yield { ...about, id: fromStoredId(String(rest[2 * n])).id, dueAt, isStored };
  }
}
