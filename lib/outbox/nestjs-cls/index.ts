// The outbox with `@nestjs-cls/transactional`, `nestjs-delay-queue/outbox/nestjs-cls`: what is not named here may change at any time.

export { nestjsClsOutbox, type TransactionHostLike } from './nestjs-cls-outbox.js';
