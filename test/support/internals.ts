import type { INestApplicationContext } from '@nestjs/common';
import type { DelayQueueEvents, DelayQueueProducer } from 'nestjs-delay-queue';
import { vi } from 'vitest';
import type { Broker } from '../../lib/store/broker.interface.js';
import type { DelayQueueConnection } from '../../lib/composition/delay-queue.connection.js';
import { DEFAULT_CONNECTION, tokensOf } from '../../lib/nest/decorators/delay-queue.tokens.js';

/*
 * What tests of applications and of the package need and the package does not export. They import from its entries otherwise,
 * so that internals can move; those of units and of brokers import what they test.
 */
export { sessionOfOwner } from '../../lib/store/fleet/owner.js';
export { decodeSessions } from '../../lib/store/fleet/sessions.js';
export { StoreKeys } from '../../lib/store/keys.js';
export { type Role, aclRule } from '../../lib/engines/redis/scripts/rights.js';
export { SCRIPT_NAMES, scriptOf } from '../../lib/engines/redis/scripts/scripts.js';
export { OPERATION } from '../../lib/messages/operation.js';
export { partitionOf } from '../../lib/messages/partitioner.js';
export { VERSION } from '../../lib/version.js';

/** The broker of an application's connection, to be broken. */
export function brokerOf(nest: INestApplicationContext, connection = DEFAULT_CONNECTION): Broker {
  return nest.get<DelayQueueConnection>(tokensOf(connection).connection).broker;
}

/** What an application injects of a connection. */
export function partsOf(
  nest: INestApplicationContext,
  connection = DEFAULT_CONNECTION,
): { producer: DelayQueueProducer; events: DelayQueueEvents } {
  const tokens = tokensOf(connection);
  return { producer: nest.get(tokens.producer), events: nest.get(tokens.events) };
}

/** Does something while what is loaded says it is of another version. */
export async function withVersion<T>(version: string, work: () => Promise<T>): Promise<T> {
  vi.doMock('../../lib/version.js', () => ({ VERSION: version }));
  try {
    return await work();
  } finally {
    vi.doUnmock('../../lib/version.js');
  }
}
