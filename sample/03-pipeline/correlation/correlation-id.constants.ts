/** Name of the header, in requests, responses and messages. */
export const CORRELATION_ID = 'x-correlation-id';
