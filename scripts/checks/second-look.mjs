/**
 * Runs each file that failed once more, one after the other.
 *
 * @template {import('./run-tests.mjs').FileResult & { project?: string }} Result
 * @param {readonly Result[]} first of all files
 * @param {(result: Result) => Promise<Result[]>} runAlone runs the file of a result by itself
 * @returns {Promise<Result[]>} what counts
 */
export async function lookAgain(first, runAlone) {
  const results = [];
  for (const result of first) {
    if (!result.project || result.failures.length === 0) {
      results.push(result);
      continue;
    }
    const again = await runAlone(result);
    const failed = again.find(({ failures }) => failures.length > 0);
    results.push(failed ? { ...failed, file: result.file } : { ...again[0], unsteady: result.failures[0] });
  }
  return results;
}
