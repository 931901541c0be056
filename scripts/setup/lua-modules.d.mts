// What tests need of lua-modules.mjs.

/** A file as the build has read it. */
interface Parsed {
  readonly file: string;
}

export function parseLua(file: string, text: string): Parsed;
export function parseModule(file: string, text: string): Parsed;
export function assertUsed(scripts: readonly Parsed[], modules: readonly Parsed[]): void;
