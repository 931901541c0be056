import { encodeFailureRecord } from '../../messages/failure-record.js';
import type { Outcome, Settlement } from '../broker.interface.js';

/** As the head of settle.lua says. */
const LETTERS: Readonly<Record<Outcome['kind'], string>> = {
  ack: 'a',
  retry: 'r',
  dead: 'd',
  release: 'b',
  'put-off': 'p',
};

/** The same where the attempt is given back. */
const DEAD_UNSPENT = 'u';

/** The same where that is since the message came too late, which is counted. */
const EXPIRED = 'x';

/** Appends the settlements to the arguments of a script, as `lua/settle.lua` reads them. */
export function encodeSettlements(settlements: readonly Settlement[], args: (string | number)[]): void {
  const details: (string | number)[] = [];
  let letters = '';
  for (const { outcome } of settlements) {
    letters += letterOf(outcome);
    if (outcome.kind !== 'ack') details.push('delay' in outcome ? outcome.delay : 0, failureOf(outcome));
  }
  args.push(details.length === 0 ? LETTERS.ack : letters, settlements.map(({ token }) => `${token} `).join(''));
  for (const { storedId } of settlements) args.push(storedId);
  args.push(...details);
}

function failureOf(outcome: Outcome): string {
  return 'failure' in outcome ? encodeFailureRecord(outcome.failure, outcome.failedAttempt) : '';
}

function letterOf(outcome: Outcome): string {
  if (outcome.kind !== 'dead' || outcome.spent !== false) return LETTERS[outcome.kind];
  return outcome.failure.reason === 'expired' ? EXPIRED : DEAD_UNSPENT;
}
