import { vi } from 'vitest';
import { withVersion } from '../internals.js';

/** What a copy of the package exports. */
export type Library = typeof import('nestjs-delay-queue');

/** The same, and its testing kit. */
export type Copy = Library & typeof import('nestjs-delay-queue/testing');

const REGISTRY = Symbol.for('nestjs-delay-queue.copies');

/** Loads the sources once more: each class is another one than in every copy before. */
export async function loadCopy(): Promise<Copy> {
  vi.resetModules();
  return { ...(await import('nestjs-delay-queue')), ...(await import('nestjs-delay-queue/testing')) };
}

/** Loads a copy that says it is of another version. */
export async function loadVersion(version: string): Promise<Copy> {
  return withVersion(version, loadCopy);
}

/** Lets this process be one that has loaded no copy yet, and warned of none. */
export function forgetCopies(): void {
  Reflect.deleteProperty(globalThis, REGISTRY);
}
