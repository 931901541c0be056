import { describe, expect, it } from 'vitest';
import { isLoopback } from '../../../lib/http/foreign-page.js';

describe('isLoopback()', () => {
  it.each([
    ['127.0.0.1', true],
    ['127.1.2.3', true],
    ['::1', true],
    ['[::1]', true],
    ['LOCALHOST', true],
    ['0.0.0.0', false],
    ['127.evil.example', false],
    ['::', false],
    ['example.com', false],
  ])('%s: %s', (host, is) => {
    expect(isLoopback(host)).toBe(is);
  });
});
