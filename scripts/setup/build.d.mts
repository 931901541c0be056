// The part of build.mjs that tests use.

export function buildSample(name: string): Promise<void>;

export function buildShop(): Promise<string>;
