// The outbox with TypeORM, `nestjs-delay-queue/outbox/typeorm`: what is not named here may change at any time.

export { typeOrmOutbox, type DataSourceLike } from './typeorm-outbox.js';
