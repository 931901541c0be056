import { InvalidArgumentError, type ReceivedOutcome } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { checkedOutcome } from '../../../../lib/consumer/pulling/received-outcome.js';

describe('an outcome', () => {
  it.each<[ReceivedOutcome, object]>([
    ['ack', { outcome: 'ack' }],
    [{ outcome: 'release' }, { outcome: 'release' }],
    [
      { outcome: 'release', delay: '5m' },
      { outcome: 'release', delay: 300_000 },
    ],
    [
      { outcome: 'retry', delay: '5m', reason: 'full' },
      { outcome: 'retry', delay: 300_000, reason: 'full' },
    ],
    [{ outcome: 'dead' }, { outcome: 'dead' }],
  ])('is a word or an object: %j', (given, checked) => {
    expect(checkedOutcome(given)).toEqual({ delay: undefined, reason: undefined, ...checked });
  });

  it.each<[unknown, string]>([
    [undefined, "An outcome must be one of 'ack', 'retry', 'dead', 'release', or an object"],
    ['nack', "outcome must be one of 'ack', 'retry', 'dead', 'release'"],
    [{ outcome: 'ack', dealy: 5 }, 'dealy'],
    [{ outcome: 'ack', delay: 5 }, "A delay goes with the outcomes 'retry' and 'release', not with 'ack'."],
    [{ outcome: 'release', reason: 'no' }, "A reason goes with the outcomes 'retry' and 'dead', not with 'release'."],
    [{ outcome: 'retry', delay: '11y' }, 'delay must be between 0 ms and 10 years'],
  ])('is refused: %j', (given, message) => {
    const check = (): unknown => checkedOutcome(given as ReceivedOutcome);

    expect(check).toThrow(InvalidArgumentError);
    expect(check).toThrow(message);
  });
});
