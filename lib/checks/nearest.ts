/**
 * Returns the name that was probably meant: the one that differs least, if at most a third of its letters differ; the first one among
 * equals. A letter that is wrong, missing, added or swapped with the next one is one difference. Case does not count.
 */
export function nearest(given: string, known: Iterable<string>): string | undefined {
  let found: string | undefined;
  let fewest = Infinity;
  for (const name of known) {
    const limit = Math.floor(Math.max(given.length, name.length) / 3);
    // Names differ by at least the difference of their lengths, which rules out most of a long list at once.
    if (Math.abs(given.length - name.length) > limit) continue;
    const differences = differencesBetween(given.toLowerCase(), name.toLowerCase());
    if (differences > limit || differences >= fewest) continue;
    found = name;
    fewest = differences;
  }
  return found;
}

/** Returns ` Did you mean 'name'?` to append to an error message; empty if no known name is similar. */
export function didYouMean(given: string, known: Iterable<string>): string {
  const name = nearest(given, known);
  return name === undefined ? '' : ` Did you mean '${name}'?`;
}

/** Returns the restricted Damerau-Levenshtein distance, computed a row of its table at a time. */
function differencesBetween(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      let least = Math.min(at(last, j) + 1, at(row, j - 1) + 1, at(last, j - 1) + (isSame ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        least = Math.min(least, at(beforeLast, j - 2) + 1);
      }
      row.push(least);
    }
    beforeLast = last;
    last = row;
  }
  return at(last, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] as number;
}
