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
  if (items.length === 0) return [];
  const answers = [...(await settle(items))];
  while (answers.includes('later')) {
    const next = [...(await settle(items.filter((_, i) => answers[i] === 'later')))];
    answers.forEach((answer, i) => {
      if (answer === 'later') answers[i] = next.shift() as SettleAnswer;
    });
  }
  return answers as SettleStatus[];
}
