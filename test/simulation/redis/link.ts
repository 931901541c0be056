import type { Accidents } from '../world/accidents.js';
import { exponential } from '../world/accidents.js';
import { type Faults, WORST } from '../world/faults.js';
import type { World } from '../world/world.js';
import type { SeededRandom } from '../../support/random.js';
import type { Product } from '../product/evaluate.js';
import type { Hearer, Server } from './server.js';

/** Whose connections they are. */
export interface Host {
  readonly name: string;
  readonly isDead: boolean;
  /** Epoch milliseconds by its own clock. */
  now(): number;
  /** Does something there, unless it is dead by then. */
  at(time: number, run: () => void): unknown;
  after(delay: number, run: () => void): unknown;
  /** Called when a call is about to be run. */
  willRun(name: string): void;
  /** Called when a call was run, before its answer is sent. */
  hasRun(name: string): void;
}

export interface Request {
  readonly name: string;
  /** Whether it adds to what is stored. */
  readonly adds: boolean;
  /** Runs it at the server: at once, or within the same event. */
  readonly run: () => unknown;
  /** Told what the clock of the server was when it was run, and when it was sent by the clock of the host. */
  readonly onTime: (serverTime: number, sentAt: number) => void;
  /** For the trace. */
  readonly about: () => string;
}

interface Sent {
  readonly request: Request;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  sentAt: number;
  hasRun: boolean;
  isOver: boolean;
}

export interface LinkOptions {
  readonly world: World;
  readonly server: Server;
  /** What the host runs. */
  readonly product: Product;
  readonly host: Host;
  readonly faults: Faults;
  readonly accidents: Accidents;
  readonly random: SeededRandom;
}

type Answer = { readonly at: number } & ({ readonly value: unknown } | { readonly error: unknown });

interface Subscription {
  readonly onMessage: (message: string) => void;
  readonly onListening: (() => void) | undefined;
}

const LOST = 'the connection was lost';

/** The connections of one process to Redis, from its start to its end: one for calls, and one for signals. */
export class Link implements Hearer {
  isUp = true;
  /** When the connection for calls broke last. World time. */
  lostAt = -Infinity;
  /** Whether signals may get lost while it is up, as on the bus of a cluster. */
  readonly losesSignals: boolean;
  readonly #options: LinkOptions;
  readonly #subscriptions = new Map<string, Set<Subscription>>();
  readonly #onUp = new Set<() => void>();
  /** Calls of the connection that have no answer, in the order in which they were sent. */
  readonly #sent = new Set<Sent>();
  #waiting: Sent[] = [];
  /** The failover after which the connection was made. */
  #term: number;
  #lastArrival = 0;
  #lastAnswer = 0;
  #lastSignal = 0;
  #deafUntil = 0;
  /** The kind of calls that go wrong more often. */
  readonly #worst: string;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#worst = options.world.random('worst').pick(WORST);
    this.#term = options.server.term;
    this.losesSignals = options.faults.lostSignals > 0;
  }

  // ── calls ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** @returns what the server answers, after the way there and back */
  async send(request: Request): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#options.host.isDead) return;
      const sent = { request, resolve, reject, sentAt: 0, hasRun: false, isOver: false };
      if (this.isUp) this.#transmit(sent);
      // As ioredis does while it connects.
      else this.#waiting.push(sent);
    });
  }

  #transmit(sent: Sent): void {
    const { host, world, server } = this.#options;
    sent.sentAt = host.now();
    this.#sent.add(sent);
    this.#lastArrival = Math.max(this.#lastArrival, world.now + this.#delay(), server.stalledUntil);
    world.at(this.#lastArrival, () => this.#arrive(sent));
  }

  #arrive(sent: Sent): void {
    if (sent.isOver) return;
    const { accidents, faults, host, server, world } = this.#options;
    // It was on its way when the server fell silent.
    if (world.now < server.stalledUntil) return void world.at(server.stalledUntil, () => this.#arrive(sent));
    if (accidents.happens('lost request', faults.lostRequests, host.name)) return this.reset();
    this.#run(sent.request, '', (answer) => this.#answered(sent, answer));
  }

  #answered(sent: Sent, answer: Answer): void {
    const { accidents, faults, host, world } = this.#options;
    sent.hasRun = true;
    const { name } = sent.request;
    host.hasRun(name);
    if (sent.isOver) return;
    if (accidents.happens('lost answer', faults.lostAnswers, host.name)) return this.reset();
    if (accidents.happens('late copy', faults.lateCopies, host.name)) this.#copyLater(sent.request);
    if (name === this.#worst) {
      if (accidents.happens(`lost ${name}`, faults.lostWorst, host.name)) return this.reset();
      if (accidents.happens(`copy of ${name}`, faults.copiedWorst, host.name)) this.#copyLater(sent.request);
    }
    this.#lastAnswer = Math.max(this.#lastAnswer, world.now + this.#delay());
    host.at(this.#lastAnswer, () => {
      if (sent.isOver) return;
      sent.isOver = true;
      this.#sent.delete(sent);
      sent.request.onTime(answer.at, sent.sentAt);
      if (!('error' in answer)) return sent.resolve(answer.value);
      sent.reject(answer.error);
      // As the client of ioredis is told to do when it has met a replica.
      if (this.#term !== this.#options.server.term) this.reset();
    });
  }

  /** @param onAnswer called within the same event */
  #run({ name, run, adds, about }: Request, as: string, onAnswer: (answer: Answer) => void = () => {}): void {
    const { host, product, server, world } = this.#options;
    const at = server.now();
    const refusal = server.refusal(this.#term, adds);
    const answered = (value: unknown): void => {
      world.trace(host.name, `${name}${as} → ${JSON.stringify(value)}`, about);
      onAnswer({ at, value });
    };
    const failed = (error: unknown): void => {
      world.trace(host.name, `${name}${as} failed: ${(error as Error).message}`, about);
      onAnswer({ at, error });
    };
    if (refusal !== undefined) return failed(product.toBrokerError(replyError(refusal), 'redis'));
    host.willRun(name);
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
    const { world, faults, server } = this.#options;
    const { term } = server;
    world.after(exponential(this.#options.random, faults.copyDelay), () => {
      // What was sent to a server that is none any more arrives nowhere.
      if (term === server.term) this.#run(request, ' (late copy)');
    });
  }

  /** The connection for calls breaks. What was sent may or may not have been, or will be, run. */
  reset(): void {
    if (!this.isUp) return;
    this.isUp = false;
    const { faults, host, random, world } = this.#options;
    this.lostAt = world.now;
    world.trace(host.name, 'lost its connection');
    for (const sent of this.#drop()) {
      const again = { ...sent, hasRun: false, isOver: false };
      if (random.next() < faults.sentAgain) this.#waiting.push(again);
      else this.#fail(sent);
    }
    host.after(random.between(5, faults.reconnect), () => this.#connect());
  }

  #connect(): void {
    const { world, server } = this.#options;
    this.isUp = true;
    this.#term = server.term;
    this.#lastArrival = world.now;
    this.#lastAnswer = world.now;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const sent of waiting) this.#transmit(sent);
    for (const listener of this.#onUp) listener();
  }

  /** What the network still has of the calls that were sent arrives in order, and after one that does not none does. */
  #drop(): Sent[] {
    const { faults, random } = this.#options;
    const all = [...this.#sent];
    this.#sent.clear();
    let arrives = true;
    for (const sent of all) {
      sent.isOver = true;
      if (sent.hasRun) continue;
      arrives &&= random.next() < faults.stillArrive;
      if (arrives) this.#run(sent.request, ' (after the end)');
    }
    return all;
  }

  #fail(sent: Sent): void {
    const { host, random, product } = this.#options;
    const error = new Error(LOST);
    host.after(random.between(1, 50), () => sent.reject(product.toBrokerError(error, 'redis')));
  }

  #delay(): number {
    const { latency, spikes } = this.#options.faults;
    const { random, accidents, host } = this.#options;
    const delay = exponential(random, latency);
    return accidents.happens('spike', spikes, host.name) ? delay * 1000 : delay;
  }

  // ── signals ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** @returns what ends it */
  listen(channel: string, onMessage: (message: string) => void, onListening?: () => void): () => void {
    const { world, server, host } = this.#options;
    const all = this.#subscriptions.get(channel) ?? new Set();
    const subscription = { onMessage, onListening };
    this.#subscriptions.set(channel, all.add(subscription));
    world.after(this.#delay(), () => {
      if (!all.has(subscription) || host.isDead) return;
      server.subscribe(channel, this);
      host.after(this.#delay(), () => all.has(subscription) && onListening?.());
    });
    return () => void all.delete(subscription);
  }

  onAvailable(listener: () => void): () => void {
    this.#onUp.add(listener);
    return () => void this.#onUp.delete(listener);
  }

  hears(channel: string, message: string): void {
    const { accidents, faults, host, world } = this.#options;
    if (this.#deafUntil === Infinity) return;
    if (accidents.happens('lost signal', faults.lostSignals, host.name)) return;
    const times = accidents.happens('doubled signal', faults.doubledSignals, host.name) ? 2 : 1;
    for (let i = 0; i < times; i++) {
      let at = Math.max(world.now, this.#deafUntil) + this.#delay();
      // In order, unless it is the second of two.
      if (i === 0) at = this.#lastSignal = Math.max(this.#lastSignal, at);
      host.at(at, () => {
        for (const { onMessage } of this.#subscriptions.get(channel) ?? []) onMessage(message);
      });
    }
  }

  /** Signals are held up, as by a network that loses packets and sends them again. */
  deafen(duration: number): void {
    this.#deafUntil = Math.max(this.#deafUntil, this.#options.world.now + duration);
  }

  rebuild(which: 'calls' | 'signals'): void {
    if (which === 'calls') return this.reset();
    const { host, random, faults } = this.#options;
    this.#deafUntil = Infinity;
    host.after(random.between(5, faults.reconnect), () => {
      this.#deafUntil = 0;
      for (const all of this.#subscriptions.values()) for (const { onListening } of all) onListening?.();
    });
  }

  /** The process has been killed: what it has sent may still arrive, up to some call. */
  end(): void {
    this.#drop();
    this.#waiting = [];
    this.#options.server.forget(this);
  }
}

/** An error as ioredis has it for an error reply. */
function replyError(message: string): Error {
  return Object.assign(new Error(message), { name: 'ReplyError' });
}
