import type { Receipt } from '../../store/deliveries/receipt.js';
import type { Partition } from '../../store/partition.js';
import { describe } from '../../checks/describe.js';
import { InvalidArgumentError } from '../../errors/options.errors.js';
import { type ResolvedBackoff, decodeBackoff, encodeBackoff } from '../../messages/backoff.js';
import type { AttemptNumber } from '../delivery/verdict.js';

/** Version of the format. Receipts of later versions can have more fields after those known here. */
const VERSION = 1;

/** Content of a receipt: the data about a delivery for any process that the receipt is brought to. */
export interface ReceiptContent extends Receipt, AttemptNumber {
  readonly partition: Partition;
  /** Time when the message was received, in epoch milliseconds on the clock of Redis. */
  readonly receivedAt: number;
  /** Backoff of the message; `undefined` if that of its topic holds. */
  readonly backoff: ResolvedBackoff | undefined;
  /** Process that holds others back while the delivery lasts, by permits or as a suspect; `undefined` if none does. */
  readonly holder: string | undefined;
}

/** Encodes a receipt as text that can travel in URLs and headers. */
export function encodeReceipt(content: ReceiptContent): string {
  const { partition, storedId, token, attempt, maxAttempts, receivedAt, backoff, holder } = content;
  const fixed = [VERSION, partition.topic, partition.index, storedId, token, attempt, maxAttempts, receivedAt];
  const fields = [...fixed, backoff ? encodeBackoff(backoff) : 0, holder ?? 0];
  return Buffer.from(JSON.stringify(fields)).toString('base64url');
}

/** @throws InvalidArgumentError if it is no receipt */
export function decodeReceipt(receipt: unknown): ReceiptContent {
  const [version, topic, index, storedId, token, attempt, maxAttempts, receivedAt, backoff, holder] = fieldsOf(receipt);
  const texts = [topic, storedId, token];
  const numbers = [version, index, attempt, maxAttempts, receivedAt];
  if (texts.every((one) => typeof one === 'string') && numbers.every((one) => Number.isSafeInteger(one))) {
    return {
      partition: { topic: topic as string, index: index as number },
      storedId: storedId as string,
      token: token as string,
      attempt: attempt as number,
      maxAttempts: maxAttempts as number,
      receivedAt: receivedAt as number,
      backoff: decodeBackoff(backoff),
      holder: typeof holder === 'string' ? holder : undefined,
    };
  }
  throw new InvalidArgumentError(
    `A receipt must be one that receive() has given, as it was given. Given: ${describe(receipt)}.`,
  );
}

function fieldsOf(receipt: unknown): readonly unknown[] {
  if (typeof receipt !== 'string') return [];
  try {
    const fields: unknown = JSON.parse(Buffer.from(receipt, 'base64url').toString());
    return Array.isArray(fields) ? fields : [];
  } catch {
    return [];
  }
}
