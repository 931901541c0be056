/** The slot of one call of a handler. It is free again once every delivery that came into the call is settled. */
export class CallSlot {
  #unsettled: number;
  readonly #onFree: () => void;

  constructor(deliveries: number, onFree: () => void) {
    this.#unsettled = deliveries;
    this.#onFree = onFree;
  }

  /** To be told once of each delivery. */
  settled(): void {
    if (--this.#unsettled === 0) this.#onFree();
  }
}
