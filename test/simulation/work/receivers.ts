import type { ReceivedMessage } from '../../../lib/consumer/pulling/received-message.js';
import type { SettleStatus } from '../../../lib/messages/settle-status.js';
import type { Process } from '../fleet/process.js';
import { LONGEST_LEASE, TOPICS } from '../fleet/topics.js';
import type { Asked, Holding, Outcome } from '../rules/receipt-rules.js';
import type { Holder } from '../rules/run.js';
import type { WorldEvent } from '../world/world.js';
import type { Activity, Setting } from './activity.js';
import { isUnavailable } from './errors.js';
import type { Payload } from './payload.js';

/** In milliseconds. */
export const RECEIVING = { shortestLease: 1000, longestWait: 2000, longestDelay: 1000 } as const;
const LONGEST_LATE = 5000;
export const PAUSE = 200;

export const MOST_AT_ONCE = 5;

/** How much shorter a lease may be than was asked for: as a share of it, or in milliseconds. */
const SHORTER = 0.1;
const MOST_SHORTER = 1000;

/** After so long, in milliseconds, whoever is outside takes no answer for none. */
const ANSWER = 7000;

/** Somebody outside of the fleet, as behind gateways: whichever process is gone, they are not. */
export const OUTSIDE: Holder = { name: 'client', isDead: false, isFrozen: false };

/** Receives what nobody handles. */
export const receive: Activity = (setting) => {
  for (const [topic, { received, limits }] of Object.entries(TOPICS)) {
    // Whoever receives first with no limits known would receive without limits.
    if (!received || (limits && !setting.process.isTold) || !setting.scene.topics.includes(topic)) continue;
    setting.run(`receives ${topic}`, () => receiveAll(setting, topic));
  }
};

async function receiveAll(setting: Setting, topic: string): Promise<void> {
  const { process, connection, random, scene, run } = setting;
  while (process.connection) {
    const lease = Math.round(random.between(RECEIVING.shortestLease, LONGEST_LEASE));
    const options = { max: random.integer(1, MOST_AT_ONCE), wait: random.integer(0, RECEIVING.longestWait), lease };
    const askedAt = scene.world.now;
    const receiving = connection.receiver.receive(topic, options);
    const messages = await orNothing(scene.rules.receipts.waits(process, topic, receiving));
    for (const message of messages ?? []) {
      const part = new Receipt(setting, message, askedAt);
      run(`has ${message.id}`, () => part.use());
    }
    if (!messages) await process.sleep(PAUSE);
  }
}

/** What whoever has received a message does with its receipt. */
class Receipt {
  readonly #setting: Setting;
  readonly #message: ReceivedMessage;
  readonly #isOutside: boolean;
  readonly #lapse = new AbortController();
  readonly #holding: Holding;
  #end: WorldEvent | undefined;

  constructor(setting: Setting, message: ReceivedMessage, askedAt: number) {
    const { scene, process, random } = setting;
    this.#setting = setting;
    this.#message = message;
    this.#isOutside = random.next() < scene.faults.outside;
    this.#lasts(askedAt + shortened(message.lease));
    const { signal } = this.#lapse;
    const { receipts } = scene.rules;
    this.#holding = this.#isOutside
      ? receipts.begin(process, message, signal, OUTSIDE, signal)
      : receipts.begin(process, message, signal);
    const to = this.#holding.run.process.name;
    scene.world.trace(process.name, `gives attempt ${message.attempt} of ${message.id} to ${to}`);
  }

  async use(): Promise<void> {
    const { scene, random } = this.#setting;
    const { takes, throws } = this.#message.payload as Payload;
    const { lease, attempt } = this.#message;
    if (random.next() < scene.faults.lapses) {
      scene.rules.receipts.lapses(this.#holding);
      await this.#sleep(lease + random.between(0, LONGEST_LATE));
      if (random.next() < 0.5) await this.#settle({ outcome: 'ack' });
      return;
    }
    const step = lease / 3;
    for (let left = takes; left > 0; left -= step) {
      await this.#sleep(Math.min(left, step));
      if (left > step) await this.#extend();
    }
    const delay = random.next() < 0.5 ? undefined : random.integer(0, RECEIVING.longestDelay);
    const isBack = random.next() < 0.05;
    const outcome = isBack ? 'release' : attempt <= throws ? 'retry' : 'ack';
    const settling = this.#settle(outcome === 'ack' ? { outcome } : { outcome, delay });
    if (random.next() < scene.faults.twice) {
      if (random.next() < 0.5) await settling;
      await Promise.all([settling, this.#settle({ outcome: random.pick(['ack', 'retry', 'release']) })]);
    }
    await settling;
  }

  /** Until somebody answers. */
  async #settle(outcome: Outcome): Promise<void> {
    const { rules } = this.#setting.scene;
    for (let isAnswered = false; !isAnswered && !this.#isGone;) {
      const by = this.#pick();
      const { connection } = by ?? {};
      if (by && connection) {
        const asked = rules.receipts.asks(this.#holding, outcome, by);
        isAnswered = await this.#answered(asked, connection.receiver.settle(this.#message.receipt, outcome), by);
      }
      if (!isAnswered) await this.#sleep(PAUSE);
    }
  }

  async #answered(asked: Asked, settling: Promise<SettleStatus>, by: Process | undefined): Promise<boolean> {
    const { world, rules } = this.#setting.scene;
    const { outcome, delay } = asked;
    try {
      const status = await this.#untilGivenUp(settling);
      if (status === undefined) return false;
      const what = `${outcome} ${delay ?? ''} of attempt ${this.#message.attempt} of ${this.#message.id}`;
      world.trace(by?.name ?? '', `${what}: ${status}`);
      rules.receipts.answered(asked, status);
      return true;
    } catch (error) {
      if (isUnavailable(error)) rules.receipts.failed(asked, error);
      else if (!isShutDown(error)) throw error;
      return false;
    }
  }

  async #extend(): Promise<void> {
    const { scene } = this.#setting;
    const { connection } = this.#pick() ?? {};
    const { lease, receipt } = this.#message;
    if (!connection) return;
    const calledAt = scene.world.now;
    const status = await orNothing(this.#untilGivenUp(connection.receiver.extend(receipt, lease)));
    if (status === undefined) return;
    scene.rules.receipts.extended(this.#holding, status);
    if (status === 'extended') this.#lasts(calledAt + lease);
  }

  get #isGone(): boolean {
    const { process } = this.#setting;
    return !this.#isOutside && (process.isDead || !process.connection);
  }

  /** Whoever is outside asks any process that consumes, for instance one that a balancer chooses. */
  #pick(): Process | undefined {
    const { scene, process, random } = this.#setting;
    if (!this.#isOutside && random.next() >= scene.faults.outside) return process;
    const running = [...scene.processes].filter((one) => !one.isDead && one.connection?.options.consumer);
    return running.length > 0 ? random.pick(running) : undefined;
  }

  /** @param until world time */
  #lasts(until: number): void {
    if (this.#end) this.#end.run = undefined;
    this.#end = this.#setting.scene.world.at(until, () => this.#lapse.abort());
  }

  async #sleep(delay: number): Promise<void> {
    const { scene, process } = this.#setting;
    if (!this.#isOutside) return process.sleep(delay);
    return new Promise((resolve) => void scene.world.after(delay, resolve));
  }

  /** A process that has been killed never answers. */
  async #untilGivenUp<T>(answer: Promise<T>): Promise<T | undefined> {
    const { world } = this.#setting.scene;
    return new Promise((resolve, reject) => {
      const end = world.after(ANSWER, () => resolve(undefined));
      answer.then(resolve, reject).finally(() => (end.run = undefined));
    });
  }
}

/** How long a lease lasts at least that was asked for, in milliseconds. */
export function shortened(lease: number): number {
  return lease - Math.min(MOST_SHORTER, lease * SHORTER);
}

async function orNothing<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isUnavailable(error) || isShutDown(error)) return undefined;
    throw error;
  }
}

function isShutDown(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'RECEIVER_UNAVAILABLE';
}
