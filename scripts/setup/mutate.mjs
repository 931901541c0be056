/**
 * Switches a guard off in the text of its file.
 *
 * @param {string} source
 * @param {{ file: string, find: string, replace: string }} mutation as those of test/fleet/faults/mutations
 * @throws {Error} if the file does not have the text once
 */
export function mutate(source, { file, find, replace }) {
  if (source.split(find).length !== 2) throw new Error(`${file} does not have exactly once: ${find}`);
  return source.replace(find, () => replace);
}
