import type { OutboxAdapter, OutboxTransaction } from '../table/outbox-adapter.interface.js';

/**
 * The parts of a `TransactionHost` of `@nestjs-cls/transactional` that the outbox uses.
 *
 * @publicApi
 */
export interface TransactionHostLike {
  readonly tx: unknown;
  isTransactionActive(): boolean;
  withTransaction<T>(callback: () => Promise<T>): Promise<T>;
}

/**
 * Finds the transactions of a `TransactionHost`: those of `@Transactional()` and `host.withTransaction()`. A handler with an inbox runs in one of
 * them, so repositories that use `host.tx` join it.
 *
 * @param adapter that of the library below, which runs the statements
 *
 * @publicApi
 */
export function nestjsClsOutbox(host: TransactionHostLike, adapter: OutboxAdapter): OutboxAdapter {
  const current = (): OutboxTransaction | undefined =>
    // It does not know a nested transaction, which is within the one that it finds itself.
    (host.isTransactionActive() ? adapter.of(host.tx) : undefined) ?? adapter.current();
  return {
    ...adapter,
    current,
    transaction: async (work) => host.withTransaction(async () => work(current() as OutboxTransaction)),
  };
}
