// The outbox with Drizzle, `nestjs-delay-queue/outbox/drizzle`: what is not named here may change at any time.

export { drizzleOutbox, type DrizzleLike, type DrizzleOutboxOptions } from './drizzle-outbox.js';
