// What tests need of build.mjs.

export function buildSample(name: string): Promise<void>;
