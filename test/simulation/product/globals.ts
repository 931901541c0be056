import crypto from 'node:crypto';
import os from 'node:os';
import type { SeededRandom } from '../../support/random.js';

/** What the product is surrounded by in a simulation. */
export interface Surroundings {
  readonly random: SeededRandom;
  /** Epoch milliseconds. */
  now(): number;
  /** @returns what cancels it */
  setTimer(delay: number, run: () => void): () => void;
}

type Cancel = (() => void) | undefined;

/**
 * What stands in the place of the globals and modules through which Node.js programs get time, chance and the collector's
 * doings. What a simulation cannot give throws.
 *
 * @param current asked each time, since one copy of the product serves one simulation after the other
 */
export function globalsOf(current: () => Surroundings): Readonly<Record<string, unknown>> {
  const now = (): number => current().now();
  class SimulatedDate extends Date {
    constructor(...given: unknown[]) {
      super(...((given.length === 0 ? [now()] : given) as [number]));
    }

    static override now(): number {
      return Math.floor(now());
    }
  }
  const timer = (delay: number, run: () => void): (() => void) => current().setTimer(delay, run);
  return {
    Date: SimulatedDate,
    Math: withMembers(Math, { random: () => current().random.next() }),
    performance: { now, timeOrigin: 0 },
    setTimeout: (run: (...args: unknown[]) => void, delay = 0, ...args: unknown[]) =>
      timer(Math.max(1, delay), () => run(...args)),
    clearTimeout: cancel,
    setInterval: () => refuse('setInterval'),
    clearInterval: cancel,
    setImmediate: (run: (...args: unknown[]) => void, ...args: unknown[]) => timer(0, () => run(...args)),
    clearImmediate: cancel,
    // What is collected, and when, is not up to a seed.
    WeakRef: StrongRef,
    FinalizationRegistry: NeverTold,
    crypto: modulesOf(current)['crypto'],
    fetch: () => refuse('fetch'),
    process: withMembers(process, { env: { NODE_ENV: 'test' }, pid: 1, hrtime: undefined, emitWarning: () => {} }),
  };
}

/** The modules of Node.js that the product gets others for. */
export function modulesOf(current: () => Surroundings): Readonly<Record<string, unknown>> {
  const fill = <T extends NodeJS.ArrayBufferView>(bytes: T): T => {
    const view = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const { random } = current();
    for (let i = 0; i < view.length; i++) view[i] = random.next() * 256;
    return bytes;
  };
  const randomUUID = (): string => {
    const hex = fill(Buffer.alloc(16)).toString('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
  };
  const simulated = {
    randomUUID,
    randomBytes: (size: number) => fill(Buffer.alloc(size)),
    randomFillSync: fill,
    getRandomValues: fill,
    randomInt: undefined,
    webcrypto: undefined,
  };
  return { crypto: withMembers(crypto, simulated), os: withMembers(os, { hostname: () => 'simulated' }) };
}

class StrongRef<T> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  deref(): T {
    return this.#value;
  }
}

/** Nothing is ever collected, so there is nothing to tell. */
class NeverTold {
  register(): void {}

  unregister(): void {}
}

/** An object with other members in the place of some. What is asked often is as fast as before. */
function withMembers(whole: object, others: object): object {
  return Object.create(whole, Object.getOwnPropertyDescriptors(others)) as object;
}

function cancel(one: Cancel): void {
  one?.();
}

function refuse(name: string): never {
  throw new Error(`A simulation has no ${name}`);
}
