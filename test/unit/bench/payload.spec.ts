import { describe, expect, it } from 'vitest';
import { PAYLOAD_BYTES, payload } from '../../../bench/contenders/payload.js';

describe('the payload of the benchmark', () => {
  it.each([0, 99_999_999])('has the same size for message %i', (n) => {
    expect(Buffer.byteLength(JSON.stringify(payload(Date.now(), n)))).toBe(PAYLOAD_BYTES);
  });
});
