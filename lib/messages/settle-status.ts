/**
 * Result of settling a delivery. `'stale'`: the delivery was not the current one, and nothing changed. `'cancelled'`, `'replaced'`: that
 * happened to the message meanwhile, so a failure of the delivery has no consequence.
 *
 * @publicApi
 */
export type SettleStatus = 'settled' | 'stale' | 'cancelled' | 'replaced';
