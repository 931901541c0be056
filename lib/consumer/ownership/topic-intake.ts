import { IntakeOvertakenError } from '../../errors/operation.errors.js';

/** What is wanted of an intake. */
export type IntakeAction = 'start' | 'stop';

/**
 * Whether this process takes work of a topic, as it was wanted last. A wish that was overtaken by another one never comes true;
 * whoever waits for it is told.
 */
export class TopicIntake {
  readonly topic: string;
  #isOpen: boolean;
  #latest: Promise<void> = Promise.resolve();
  /** Ends the latest wish if it has not come true. */
  #overtake: (by: IntakeAction | 'shutdown') => void = () => {};

  constructor(topic: string, isOpen: boolean) {
    this.topic = topic;
    this.#isOpen = isOpen;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Resolves once what was wanted last has come true; rejects with an {@link IntakeOvertakenError} if it was overtaken. */
  get latest(): Promise<void> {
    return this.#latest;
  }

  /** Whether it is what was wanted last. */
  is(action: IntakeAction): boolean {
    return this.#isOpen === (action === 'start');
  }

  /**
   * Another wish than the last one.
   *
   * @param fulfil makes it come true and never rejects; the signal aborts if it is overtaken
   */
  want(action: IntakeAction, fulfil: (signal: AbortSignal) => Promise<void>): void {
    this.#overtake(action);
    this.#isOpen = action === 'start';
    const overtaken = new AbortController();
    this.#latest = new Promise((resolve, reject) => {
      this.#overtake = (by) => {
        overtaken.abort();
        reject(new IntakeOvertakenError(this.topic, action, by));
      };
      void fulfil(overtaken.signal).then(resolve);
    });
    // Nobody may wait for it.
    this.#latest.catch(() => {});
  }

  /** The process shuts down: nothing is started any more, and what stops goes on stopping. */
  close(): void {
    if (this.#isOpen) this.#overtake('shutdown');
    this.#isOpen = false;
  }
}
