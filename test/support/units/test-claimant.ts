import type { Claimant, HandlerSlots } from '../../../lib/consumer/admission/handler-slots.js';

/** Asks for slots and keeps what it is granted. */
export class TestClaimant implements Claimant {
  readonly grants: number[] = [];
  goesAhead = false;
  onGrant: (slots: number) => void = () => {};

  constructor(
    readonly slots: HandlerSlots,
    public wanted = 1,
    readonly priority = 0,
  ) {}

  request(): void {
    this.slots.request(this);
  }

  withdraw(): void {
    this.slots.withdraw(this);
  }

  grant(slots: number): void {
    this.grants.push(slots);
    this.onGrant(slots);
  }

  get granted(): number {
    return this.grants.reduce((sum, slots) => sum + slots, 0);
  }
}

/** Released slots are granted in a later turn of the event loop. */
export async function turns(count = 2): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}
