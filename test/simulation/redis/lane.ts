import { type Accidents, exponential } from '../world/accidents.js';
import type { Faults } from '../world/faults.js';
import type { World } from '../world/world.js';
import type { SeededRandom } from '../../support/random.js';
import type { Product } from '../product/evaluate.js';
import type { Host } from './link.js';
import type { Server } from './server.js';
import type { Shard } from './shard.js';

/** In milliseconds: Redis knows calls again for two minutes by its clock, which may be set ahead by one of them. */
const LATEST_COPY = 60_000;

export interface Request {
  readonly name: string;
  /** One of those that it is about. `undefined`: any shard can answer it. */
  readonly key: string | undefined;
  /** Whether it adds to what is stored. */
  readonly adds: boolean;
  /** Runs it at the server: at once, or within the same event. */
  readonly run: () => unknown;
  /** Told what the clock of the server was when it was run, and when it was sent by the clock of the host. */
  readonly onTime: (serverTime: number, sentAt: number) => void;
  /** For the trace. */
  readonly about: () => string;
}

export interface Sent {
  readonly request: Request;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  sentAt: number;
  /** Whether the network has nothing of it any more. */
  hasRun: boolean;
  isOver: boolean;
  /** How often a Cluster has had it sent once more. */
  redirections: number;
}

export interface LaneOptions {
  readonly world: World;
  readonly server: Server;
  readonly shard: Shard;
  /** What the host runs. */
  readonly product: Product;
  readonly host: Host;
  readonly faults: Faults;
  readonly accidents: Accidents;
  readonly random: SeededRandom;
  /** The kind of calls that go wrong more often. */
  readonly worst: string;
  /** How long the next way takes. */
  readonly delay: () => number;
  /** Called when it is up again. */
  readonly onUp: () => void;
  readonly onLost: () => void;
  /** Sends what another shard, or another server of this one, has to answer. */
  readonly redirect: (sent: Sent) => void;
}

type Answer = { readonly at: number } & ({ readonly value: unknown } | { readonly error: unknown });

const LOST = 'the connection was lost';

/** How often ioredis sends a call again that a Cluster does not serve yet, and how long it waits before, in milliseconds. */
const MOST_REDIRECTIONS = 16;
const REDIRECTION_PAUSE = 100;

/** Between two tries to reach a shard that is away, in milliseconds. */
const LOOK = 250;

/** The connection of a process to a Redis, or to a shard of a Cluster, for calls. */
export class Lane {
  isUp = true;
  readonly #options: LaneOptions;
  /** Calls of the connection that have no answer, in the order in which they were sent. */
  readonly #sent = new Set<Sent>();
  #waiting: Sent[] = [];
  /** The failover after which the connection was made. */
  #term: number;
  #lastArrival = 0;
  #lastAnswer = 0;
  /** Whether no connection could be made when that was tried last: what is sent fails at once. */
  #isAway = false;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#term = options.shard.term;
    if (!options.shard.isAway) return;
    this.isUp = false;
    this.#connect();
  }

  send(sent: Sent): void {
    if (this.isUp) this.#transmit(sent);
    else if (this.#isAway) this.#fail(sent);
    // As ioredis does while it connects.
    else this.#waiting.push(sent);
  }

  #transmit(sent: Sent): void {
    const { host, world, shard, delay } = this.#options;
    if (sent.redirections === 0) sent.sentAt = host.now();
    this.#sent.add(sent);
    this.#lastArrival = Math.max(this.#lastArrival, world.now + delay(), shard.stalledUntil);
    world.at(this.#lastArrival, () => this.#arrive(sent));
  }

  #arrive(sent: Sent): void {
    if (sent.isOver) return;
    const { accidents, faults, host, shard, world, server } = this.#options;
    // It was on its way when the server fell silent.
    if (world.now < shard.stalledUntil) return void world.at(shard.stalledUntil, () => this.#arrive(sent));
    if (accidents.happens('lost request', faults.lostRequests, host.name)) return this.reset();
    if (server.isCluster && this.#isRedirected(sent)) return;
    this.#run(sent.request, '', (answer) => this.#answered(sent, answer));
  }

  #answered(sent: Sent, answer: Answer): void {
    const { accidents, faults, host, world, worst, shard, delay } = this.#options;
    sent.hasRun = true;
    const { name } = sent.request;
    host.hasRun(name);
    if (sent.isOver) return;
    if (accidents.happens('lost answer', faults.lostAnswers, host.name)) return this.reset();
    if (accidents.happens('late copy', faults.lateCopies, host.name)) this.#copyLater(sent.request);
    if (name === worst) {
      if (accidents.happens(`lost ${name}`, faults.lostWorst, host.name)) return this.reset();
      if (accidents.happens(`copy of ${name}`, faults.copiedWorst, host.name)) this.#copyLater(sent.request);
    }
    this.#lastAnswer = Math.max(this.#lastAnswer, world.now + delay());
    host.at(this.#lastAnswer, () => {
      if (sent.isOver) return;
      sent.isOver = true;
      this.#sent.delete(sent);
      sent.request.onTime(answer.at, sent.sentAt);
      if (!('error' in answer)) return sent.resolve(answer.value);
      sent.reject(answer.error);
      // As the client of ioredis is told to do when it has met a replica.
      if (this.#term !== shard.term) this.reset();
    });
  }

  // ── what a Cluster does not answer ──────────────────────────────────────────────────────────────────────────────────

  #isRedirected(sent: Sent): boolean {
    const { server, shard, random } = this.#options;
    const { key } = sent.request;
    if (key === undefined) return false;
    if (server.placement.of(key) !== shard || this.#term !== shard.term) {
      // A former primary leads to its successor.
      this.#sendBack(sent, 0, () => (this.#term = shard.term));
      return true;
    }
    const refusal = server.placement.refusal(key, () => random.next() < 0.5);
    if (refusal === undefined) return false;
    this.#sendBack(sent, REDIRECTION_PAUSE, () => {}, refusal);
    return true;
  }

  /** ioredis sends it again, and so perhaps after what its process has sent later. */
  #sendBack(sent: Sent, pause: number, onHeard: () => void, refusal = 'MOVED'): void {
    const { host, world, redirect, delay, product } = this.#options;
    sent.hasRun = true;
    this.#lastAnswer = Math.max(this.#lastAnswer, world.now + delay());
    host.at(this.#lastAnswer + pause, () => {
      if (sent.isOver) return;
      sent.hasRun = false;
      this.#sent.delete(sent);
      onHeard();
      if (++sent.redirections <= MOST_REDIRECTIONS) return redirect(sent);
      const error = new Error(`Too many Cluster redirections. Last error: ReplyError: ${refusal}`);
      sent.isOver = true;
      sent.reject(product.toBrokerError(error, 'redis'));
    });
  }

  #holds({ key }: Request): boolean {
    const { server, shard } = this.#options;
    return !shard.isAway && (key === undefined || server.placement.of(key) === shard);
  }

  // ── what the server does ────────────────────────────────────────────────────────────────────────────────────────────

  /** @param onAnswer called within the same event */
  #run({ name, run, adds, about }: Request, as: string, onAnswer: (answer: Answer) => void = () => {}): void {
    const { host, product, server, shard, world } = this.#options;
    const at = server.now();
    const refusal = shard.refusal(this.#term, adds);
    const answered = (value: unknown): void => {
      world.trace(host.name, `${name}${as} → ${JSON.stringify(value)}`, about);
      onAnswer({ at, value });
    };
    const failed = (error: unknown): void => {
      world.trace(host.name, `${name}${as} failed: ${(error as Error).message}`, about);
      onAnswer({ at, error });
    };
    if (refusal !== undefined) return failed(product.toBrokerError(replyError(refusal), 'redis'));
    host.willRun(name, shard);
    try {
      const value = run();
      if (value instanceof Promise) void value.then(answered, failed);
      else answered(value);
    } catch (error) {
      failed(error);
    }
  }

  /** As from a network that holds a packet of an old connection. */
  #copyLater(request: Request): void {
    const { world, faults, shard, random } = this.#options;
    const { term } = shard;
    world.after(Math.min(LATEST_COPY, exponential(random, faults.copyDelay)), () => {
      // What was sent to a server that is none any more, or has the key no more, has no effect.
      if (term === shard.term && this.#holds(request)) this.#run(request, ' (late copy)');
    });
  }

  // ── the connection ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** The connection breaks. What was sent may or may not have been, or will be, run. */
  reset(): void {
    if (!this.isUp) return;
    this.isUp = false;
    const { faults, host, random, onLost } = this.#options;
    onLost();
    for (const sent of this.drop()) {
      const again = { ...sent, hasRun: false, isOver: false };
      if (random.next() < faults.sentAgain) this.#waiting.push(again);
      else this.#fail(sent);
    }
    host.after(random.between(5, faults.reconnect), () => this.#connect());
  }

  #connect(): void {
    const { world, shard, host, onUp } = this.#options;
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#isAway = shard.isAway;
    if (this.#isAway) {
      for (const sent of waiting) this.#fail(sent);
      return void host.after(LOOK, () => this.#connect());
    }
    this.isUp = true;
    this.#term = shard.term;
    this.#lastArrival = world.now;
    this.#lastAnswer = world.now;
    for (const sent of waiting) this.#transmit(sent);
    onUp();
  }

  /** What the network still has of the calls that were sent arrives in order, and after one that does not none does. */
  drop(): Sent[] {
    const { faults, random } = this.#options;
    const all = [...this.#sent];
    this.#sent.clear();
    let arrives = true;
    for (const sent of all) {
      sent.isOver = true;
      if (sent.hasRun) continue;
      arrives &&= random.next() < faults.stillArrive;
      if (arrives && this.#holds(sent.request)) this.#run(sent.request, ' (after the end)');
    }
    return all;
  }

  /** The process is gone. */
  end(): void {
    this.drop();
    this.#waiting = [];
  }

  #fail(sent: Sent): void {
    const { host, random, product } = this.#options;
    const error = new Error(LOST);
    host.after(random.between(1, 50), () => sent.reject(product.toBrokerError(error, 'redis')));
  }
}

/** An error as ioredis has it for an error reply. */
function replyError(message: string): Error {
  return Object.assign(new Error(message), { name: 'ReplyError' });
}
