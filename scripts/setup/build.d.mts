// The parts of build.mjs that tests use.

export function buildBench(): Promise<string>;
export function buildSample(name: string): Promise<void>;

export const SHOP: string;
