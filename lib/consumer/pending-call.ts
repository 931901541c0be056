/** The one call that an answer is waited for. It can be given up, should the answer never come. */
export class PendingCall {
  #since: number | undefined;
  #giveUp: ((reason: Error) => void) | undefined;

  /** When it was sent, epoch milliseconds on the local clock; `undefined` where nothing is waited for. */
  get since(): number | undefined {
    return this.#since;
  }

  /** @throws what the call rejects with, or the reason for which it was given up */
  async answer<T>(sentAt: number, call: Promise<T>): Promise<T> {
    this.#since = sentAt;
    try {
      return await new Promise<T>((resolve, reject) => {
        this.#giveUp = reject;
        call.then(resolve, reject);
      });
    } finally {
      this.#since = undefined;
      this.#giveUp = undefined;
    }
  }

  /** Waits no longer; an answer that comes all the same is dropped. */
  giveUp(reason: Error): void {
    this.#giveUp?.(reason);
  }
}
