// What TypeScript needs of simulation.mjs.
export interface SourceMutation {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export function bundleSimulator(): Promise<{ readonly main: string; readonly guard: string }>;
export function bundleProduct(mutations?: readonly SourceMutation[]): Promise<string>;
