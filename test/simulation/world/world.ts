import { SeededRandom } from '../../support/random.js';

/** Epoch milliseconds at which each simulation begins. */
export const BEGIN = Date.UTC(2026, 0, 1);

export interface WorldEvent {
  time: number;
  sequence: number;
  /** `undefined`: it was taken back. */
  run: (() => void) | undefined;
}

/** Tells of what happens, if anybody wants to know. */
export type Listener = (time: number, who: string, what: string) => void;

/**
 * Time stands still until nothing goes on any more, and then jumps to the next event. Events of one time happen in the order in which they
 * were set.
 */
export class World {
  readonly seed: string;
  /** Epoch milliseconds. */
  now = BEGIN;
  events = 0;
  listener: Listener | undefined;
  readonly #heap: WorldEvent[] = [];
  #sequence = 0;
  /** What has happened, folded into two numbers. */
  #low = 0x811c9dc5;
  #high = 0x9e3779b9;

  constructor(seed: string) {
    this.seed = seed;
  }

  /** Each part of the world draws from numbers of its own, so that a change of one leaves the others as they were. */
  random(name: string): SeededRandom {
    return new SeededRandom(fold(`${this.seed}/${name}`));
  }

  at(time: number, run: () => void): WorldEvent {
    const event = { time: Math.max(time, this.now), sequence: this.#sequence++, run };
    push(this.#heap, event);
    return event;
  }

  /** @param delay milliseconds */
  after(delay: number, run: () => void): WorldEvent {
    return this.at(this.now + delay, run);
  }

  /**
   * Goes on until it is done, nothing is left, or the time is over.
   *
   * @param limit epoch milliseconds
   * @returns whether it was done
   */
  async runUntil(isDone: () => boolean, limit: number): Promise<boolean> {
    return new Promise((resolve, reject) => {
      // As after each callback of Node.js, all that promises have set in motion comes to rest before the next event.
      const step = (): void => {
        try {
          if (isDone()) return resolve(true);
          const event = this.#next(limit);
          if (!event) return resolve(false);
          this.now = event.time;
          this.events++;
          event.run?.();
          setImmediate(step);
        } catch (error) {
          reject(error);
        }
      };
      setImmediate(step);
    });
  }

  #next(limit: number): WorldEvent | undefined {
    for (;;) {
      const event = this.#heap[0];
      if (!event || event.time > limit) return undefined;
      pop(this.#heap);
      if (event.run) return event;
    }
  }

  /**
   * Something happened that the same seed has to bring back at the same time.
   *
   * @param detail what is told beside that, to whoever listens
   */
  trace(who: string, what: string, detail?: () => string): void {
    this.#add(who);
    this.#add(what);
    const time = Math.round(this.now * 1000) >>> 0;
    this.#low = Math.imul(this.#low ^ time, 0x01000193);
    this.#high = Math.imul(this.#high ^ time, 0xc2b2ae35);
    if (this.listener) this.listener(this.now, who, detail ? `${what} of ${detail()}` : what);
  }

  get hash(): string {
    return [this.#low, this.#high].map((part) => (part >>> 0).toString(16).padStart(8, '0')).join('');
  }

  #add(text: string): void {
    let [low, high] = [this.#low, this.#high];
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      low = Math.imul(low ^ code, 0x01000193);
      high = Math.imul(high ^ code, 0x85ebca6b) ^ (high >>> 13);
    }
    [this.#low, this.#high] = [low, high];
  }
}

/** FNV-1a, and the last steps of MurmurHash3, so that names that differ little give numbers that differ much. */
function fold(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

// ── a heap, by time and then by sequence ──────────────────────────────────────────────────────────────────────────────

function isBefore(a: WorldEvent, b: WorldEvent): boolean {
  return a.time < b.time || (a.time === b.time && a.sequence < b.sequence);
}

function push(heap: WorldEvent[], event: WorldEvent): void {
  let at = heap.length;
  heap.push(event);
  while (at > 0) {
    const parent = (at - 1) >> 1;
    const above = heap[parent] as WorldEvent;
    if (!isBefore(event, above)) break;
    heap[at] = above;
    at = parent;
  }
  heap[at] = event;
}

function pop(heap: WorldEvent[]): void {
  const last = heap.pop() as WorldEvent;
  if (heap.length === 0) return;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && isBefore(heap[child + 1] as WorldEvent, heap[child] as WorldEvent)) child++;
    const below = heap[child] as WorldEvent;
    if (!isBefore(below, last)) break;
    heap[at] = below;
    at = child;
  }
  heap[at] = last;
}
