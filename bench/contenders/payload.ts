/** The payload of every message. */
export interface Payload {
  /** When the message is due, epoch milliseconds; for a message that is due at once, when it was published. */
  readonly dueAt: number;
  readonly orderId: string;
  readonly note: string;
}

/** Size of every payload in JSON, in bytes. */
export const PAYLOAD_BYTES = 130;

const NOTE = 'n'.repeat(PAYLOAD_BYTES - JSON.stringify(toPayload(1e12, 0, '')).length);

/** @param dueAt epoch milliseconds, a whole number */
export function payload(dueAt: number, n: number): Payload {
  return toPayload(dueAt, n, NOTE);
}

function toPayload(dueAt: number, n: number, note: string): Payload {
  return { dueAt, orderId: `order-${String(n).padStart(8, '0')}`, note };
}
