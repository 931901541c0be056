/** Name of the connection to the Redis of the billing department. */
export const BILLING = 'billing';
