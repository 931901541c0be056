import type { Partition, Receipt } from '../broker/broker.interface.js';
import { describe } from '../checks/describe.js';
import { MAX_PARTITIONS } from '../checks/limits.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { isName } from '../messages/topic.js';

/** What a receipt says of the delivery that it stands for. */
export interface ReceivedDelivery extends Receipt {
  readonly partition: Partition;
  readonly attempt: number;
  /** When it was received, on the broker's clock in epoch milliseconds. */
  readonly receivedAt: number;
  /** Whether its message was gone when it was received. */
  readonly isGone: boolean;
}

/** Longer ones are none. */
const MAX_LENGTH = 8192;

/** As text that any process of the fleet can settle, and that has no characters which need escaping anywhere. */
export function encodeReceipt({ partition, storedId, token, attempt, receivedAt, isGone }: ReceivedDelivery): string {
  const { topic, index } = partition;
  const parts = [topic, index, storedId, token, attempt, Math.round(receivedAt), ...(isGone ? [1] : [])];
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

/** @throws InvalidArgumentError if it is none */
export function decodeReceipt(receipt: unknown): ReceivedDelivery {
  const parts = typeof receipt === 'string' && receipt.length <= MAX_LENGTH ? parse(receipt) : undefined;
  const [topic, index, storedId, token, attempt, receivedAt, gone] = Array.isArray(parts) ? (parts as unknown[]) : [];
  const isReceipt =
    isName(topic) &&
    isCount(index) &&
    index < MAX_PARTITIONS &&
    isCount(attempt) &&
    isCount(receivedAt) &&
    typeof storedId === 'string' &&
    typeof token === 'string' &&
    (gone === undefined || gone === 1);
  if (!isReceipt) {
    throw new InvalidArgumentError(`receipt must be one that a received message has. Given: ${describe(receipt)}.`);
  }
  return { partition: { topic, index }, storedId, token, attempt, receivedAt, isGone: gone === 1 };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function parse(receipt: string): unknown {
  try {
    return JSON.parse(Buffer.from(receipt, 'base64url').toString());
  } catch {
    return undefined;
  }
}
