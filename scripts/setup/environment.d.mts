// The part of environment.mjs that vitest.config.ts uses.

export function keepTestEnvironment(): void;
