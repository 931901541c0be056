import { expect } from 'vitest';

export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.freeze(value);
    for (const part of Object.values(value)) deepFreeze(part);
  }
  return value;
}

export function failureOf(resolve: () => unknown): Error {
  try {
    resolve();
  } catch (error) {
    return error as Error;
  }
  return expect.fail('it was accepted');
}

export const NO_DURATIONS: readonly unknown[] = ['soon', '', NaN, -1, '-5m', Infinity, '11y', null, true, {}, []];
export const NO_COUNTS: readonly unknown[] = [0, -1, 1.5, NaN, Infinity, '5', null, true, {}, []];
