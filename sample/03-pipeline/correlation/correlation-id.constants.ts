/** Name of the header, in requests, responses and messages alike. */
export const CORRELATION_ID = 'x-correlation-id';
