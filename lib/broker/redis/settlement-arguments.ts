import { encodeFailure } from '../../message/failure.js';
import type { Outcome, Settlement } from '../broker.interface.js';

/** One letter an outcome, as the head of settle.lua says. */
const LETTERS: Readonly<Record<Outcome['kind'], string>> = {
  ack: 'a',
  retry: 'r',
  dead: 'd',
  release: 'b',
  'put-off': 'p',
};

/** Adds the five arguments that settle.lua takes of a delivery. */
export function encodeSettlement({ storedId, token, outcome }: Settlement, args: (string | number)[]): void {
  args.push(
    storedId,
    token,
    LETTERS[outcome.kind],
    'delay' in outcome ? outcome.delay : 0,
    'failure' in outcome ? encodeFailure(outcome.failure) : '',
  );
}
