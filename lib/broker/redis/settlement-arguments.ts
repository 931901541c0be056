import { encodeFailure } from '../../message/failure.js';
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

/** Adds the five arguments that settle.lua takes of a delivery. */
export function encodeSettlement({ storedId, token, outcome }: Settlement, args: (string | number)[]): void {
  args.push(
    storedId,
    token,
    letterOf(outcome),
    'delay' in outcome ? outcome.delay : 0,
    'failure' in outcome ? encodeFailure(outcome.failure) : '',
  );
}

function letterOf(outcome: Outcome): string {
  if (outcome.kind !== 'dead' || outcome.spent !== false) return LETTERS[outcome.kind];
  return outcome.failure.reason === 'expired' ? EXPIRED : DEAD_UNSPENT;
}
