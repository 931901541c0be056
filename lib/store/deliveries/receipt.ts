/**
 * Proves that a settle belongs to the current delivery of a message: the token is the owner's epoch and the number of the delivery, or
 * the number of the first delivery that shares its record and its place there. The broker only compares it, so nothing that it forgets
 * can make a receipt fit a later delivery, or a later message with the same id.
 */
export interface Receipt {
  readonly storedId: string;
  readonly token: string;
}

/** @param name number of the delivery among those that an owner makes in its epoch, from 1; or the number of the first one that shares its record, a plus, and its place */
export function tokenOf(epoch: string, name: string | number): string {
  return `${epoch}.${name}`;
}

/**
 * Returns the token of a delivery that shares a record.
 *
 * @param record token of the first delivery of it
 * @param place in the record, from 1
 */
export function sharedToken(record: string, place: number): string {
  return `${record}+${place}`;
}

/** Stands for a token of no delivery. */
export const NO_TOKEN = '0';
