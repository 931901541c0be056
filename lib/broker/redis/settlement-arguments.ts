import { encodeFailureRecord } from '../../message/failure-record.js';
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

/** Adds the five arguments that settle.lua takes of a delivery. */
export function encodeSettlement({ storedId, token, outcome }: Settlement, args: (string | number)[]): void {
  args.push(
    storedId,
    token,
    outcome.kind === 'dead' && outcome.spent === false ? DEAD_UNSPENT : LETTERS[outcome.kind],
    'delay' in outcome ? outcome.delay : 0,
    'failure' in outcome ? encodeFailureRecord(outcome.failure, outcome.failedAttempt) : '',
  );
}
