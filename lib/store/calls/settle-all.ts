import type { SettleStatus } from '../../messages/settle-status.js';
import type { SettleAnswer } from '../deliveries/settle.js';

/**
 * Settles with as many calls as it takes: the finished messages to keep may be too much for one.
 *
 * @param settle makes one call, which serves at least one of them
 * @returns in the order of the items
 */
export async function settleAll<T>(
  items: readonly T[],
  settle: (items: readonly T[]) => Promise<readonly SettleAnswer[]>,
): Promise<SettleStatus[]> {
  const statuses = new Map<T, SettleStatus>();
  for (let left = items; left.length > 0; left = left.filter((item) => !statuses.has(item))) {
    const answers = await settle(left);
    left.forEach((item, i) => {
      const answer = answers[i] as SettleAnswer;
      if (answer !== 'later') statuses.set(item, answer);
    });
  }
  return items.map((item) => statuses.get(item) as SettleStatus);
}
