/** What is kept of a message once it was delivered. */
export interface DeliveryRecord {
  /** 0 while the message is not in flight. */
  token: number;
  delivery: number;
  attempt: number;
  due: number;
  /** What happened to the message while it was in flight. */
  mark?: { kind: 'cancelled' } | { kind: 'replaced'; due: number } | undefined;
}
