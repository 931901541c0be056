// The outbox with Knex, `nestjs-delay-queue/outbox/knex`: what is not named here may change at any time.

export { knexOutbox, type KnexLike } from './knex-outbox.js';
