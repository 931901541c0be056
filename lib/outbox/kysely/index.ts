// The outbox with Kysely, `nestjs-delay-queue/outbox/kysely`: what is not named here may change at any time.

export { kyselyOutbox, type KyselyLike, type KyselyOutboxOptions } from './kysely-outbox.js';
