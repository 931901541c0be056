import { fromStoredId } from '../../../lib/messages/stored-id.js';

/** One message of what a claim has handed out. */
export interface Handed {
  readonly id: string;
  readonly key: string;
  readonly storedId: string;
  /** The number of the delivery in its partition. */
  readonly number: number;
  /** How often it was handed out. */
  readonly delivery: number;
  readonly attempt: number;
  /** The room that it takes as a suspect. */
  readonly weight: number;
}

/** How many values a claim answers before the messages. */
const HEAD = 10;

/** What an answer of `claim.lua` says of the deliveries that were to end with it. */
export function endedBy(reply: readonly unknown[]): string {
  return (reply[HEAD - 2] ?? '') as string;
}

/** What an answer of `claim.lua` hands out. */
export function handedOut(reply: readonly unknown[]): Handed[] {
  if (reply[0] !== 1) return [];
  const records = String(reply[4]).split(',');
  const count = (reply.length - HEAD) / 2;
  const [, ...pairs] = String(reply[5]).split(',').map(Number);
  const weights = new Map<number, number>();
  for (let i = 0; i < pairs.length; i += 2) weights.set(pairs[i] as number, pairs[i + 1] as number);
  return Array.from({ length: count }, (_, i) => {
    const storedId = String(reply[HEAD + 2 * i]);
    const record = records[i] as string;
    // Of a first delivery there is only the due time, and the numbers are in a row.
    const [name = '', delivery = 1, attempt = 1] = record.split(' ');
    const [first = 0, place = 1] = name.split('+').map(Number);
    const number = record.includes(' ') ? first + place - 1 : Number(reply[1]) - count + i + 1;
    const counts = { delivery: Number(delivery), attempt: Number(attempt) };
    return { ...fromStoredId(storedId), storedId, number, ...counts, weight: weights.get(i) ?? 0 };
  });
}
