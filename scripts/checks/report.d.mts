// The part of report.mjs that tests use.

interface Failure {
  readonly name: string;
  readonly error: string;
}

export interface FileResult {
  readonly file: string;
  readonly milliseconds: number;
  readonly passed: number;
  readonly failures: readonly Failure[];
  readonly again?: string;
  readonly unsteady?: Failure;
}

export function linesOf(results: readonly FileResult[]): string[];
