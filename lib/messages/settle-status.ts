/**
 * What became of the outcome of a delivery. `stale`: the delivery was not the current one, nothing was changed.
 * `cancelled`, `replaced`: the message was meanwhile, so that a failed delivery has no consequence.
 *
 * @publicApi
 */
export type SettleStatus = 'settled' | 'stale' | 'cancelled' | 'replaced';
