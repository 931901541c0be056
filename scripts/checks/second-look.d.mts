// For tests.
import type { FileResult } from './report.mjs';

export function lookAgain<Result extends FileResult & { project?: string }>(
  first: readonly Result[],
  runAlone: (result: Result) => Promise<Result[]>,
): Promise<Result[]>;
