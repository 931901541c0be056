import { describe, expect, it } from 'vitest';
import { decodePartitionSignal } from '../../../lib/store/fleet/signals.js';
import { toStoredId } from '../../../lib/messages/stored-id.js';
import { shown } from '../../support/shown.js';

describe('decodePartitionSignal', () => {
  it('reads when something is due', () => {
    expect(decodePartitionSignal('due 1767225600000')).toEqual({ kind: 'due', at: 1_767_225_600_000 });
    expect(decodePartitionSignal('due 0')).toEqual({ kind: 'due', at: 0 });
  });

  for (const storedId of [
    'a',
    'two words',
    ' leading',
    '5',
    'cancelled 7 x',
    'ünï\u{1F600}',
    toStoredId('i d', 'k e y'),
  ]) {
    it(`reads that ${shown(storedId)} was cancelled`, () => {
      expect(decodePartitionSignal(`cancelled epoch.42 ${storedId}`)).toEqual({
        kind: 'cancelled',
        token: 'epoch.42',
        storedId,
      });
    });
  }

  for (const message of [
    '',
    'due',
    'due soon',
    'due NaN',
    'cancelled',
    'cancelled  a',
    'resumed 5',
    '5',
    'DUE 5',
    '\0',
  ]) {
    it(`does not read ${shown(message)} as a signal`, () => {
      expect(decodePartitionSignal(message)).toBeUndefined();
    });
  }
});
