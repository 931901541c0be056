/** @typedef {import('./run-tests.mjs').FileResult} FileResult */

/** CI keeps the last lines of the output alone, so all that is printed here has to fit into 60. */
const SLOWEST = 10;
const IN_FULL = 2;
const BY_NAME = 5;
const UNSTEADY = 3;

/** Longest reason of a failure, in lines from its beginning and from its end: a program's output may lie in between. */
const FIRST_LINES = 6;
const LAST_LINES = 2;
const WIDTH = 300;

/**
 * Prints where the time went, what did not pass, what is unsteady, and the counts as the last line.
 *
 * @param {readonly FileResult[]} results
 * @returns {number} the exit code
 */
export function report(results) {
  console.log(linesOf(results).join('\n'));
  return results.some(({ failures }) => failures.length > 0) ? 1 : 0;
}

/** @param {readonly FileResult[]} results */
export function linesOf(results) {
  const failures = results.flatMap(({ file, again, failures: found }) =>
    found.map((failure) => ({ ...failure, file, again })),
  );
  const unsteady = results.filter((result) => result.unsteady);
  const passed = results.reduce((sum, result) => sum + result.passed, 0);
  const counts = `${passed} passed, ${failures.length} failed`;
  return [...timesOf(results), ...linesOfFailures(failures), ...linesOfUnsteady(unsteady), counts];
}

function timesOf(results) {
  const timed = results.filter(({ milliseconds }) => milliseconds > 0);
  if (timed.length <= 1) return [''];
  const kinds = new Map();
  for (const { file, milliseconds } of timed) kinds.set(kindOf(file), (kinds.get(kindOf(file)) ?? 0) + milliseconds);
  const slowest = timed.toSorted((a, b) => b.milliseconds - a.milliseconds).slice(0, SLOWEST);
  return [
    '',
    'The slowest files:',
    ...slowest.map(({ file, milliseconds }) => `  ${inSeconds(milliseconds).padStart(7)}  ${file}`),
    `Time of each kind: ${[...kinds].map(([kind, milliseconds]) => `${kind} ${inSeconds(milliseconds)}`).join(', ')}`,
    '',
  ];
}

/** The folder in `test`, or another folder that has tests, such as `sample`. */
function kindOf(file) {
  const [top, kind] = file.split('/');
  return top === 'test' ? kind : top;
}

function inSeconds(milliseconds) {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

function linesOfFailures(failures) {
  if (failures.length === 0) return [];
  const byName = failures.slice(IN_FULL, IN_FULL + BY_NAME);
  const left = failures.length - IN_FULL - byName.length;
  return [
    'Not passed:',
    ...failures
      .slice(0, IN_FULL)
      .flatMap((failure) => [
        `  ${titleOf(failure)}`,
        ...shortened(failure.error).map((line) => `    ${line}`),
        ...(failure.again ? [`    Again: ${failure.again}`] : []),
      ]),
    ...byName.map((failure) => `  ${titleOf(failure)}`),
    ...(left > 0 ? [`  … and ${left} more`] : []),
    '',
  ];
}

/** A file that passed when it was run again counts as passed, so it is said where nobody can miss it. */
function linesOfUnsteady(results) {
  const left = results.length - UNSTEADY;
  return [
    ...results.slice(0, UNSTEADY).map(({ file, unsteady }) => {
      const [line] = shortened(unsteady.error);
      return `unsteady: ${titleOf({ ...unsteady, file })}: ${line}`;
    }),
    ...(left > 0 ? [`unsteady: ${left} files more`] : []),
  ];
}

function titleOf({ file, name }) {
  return name === file ? file : `${file} > ${name}`;
}

function shortened(text) {
  const lines = text.split('\n').map((line) => line.trimEnd().slice(0, WIDTH));
  const left = lines.length - FIRST_LINES - LAST_LINES;
  if (left > 1) lines.splice(FIRST_LINES, left, `… ${left} lines more …`);
  return lines;
}
