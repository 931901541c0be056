const MAX_PATH_LENGTH = 200;

/**
 * Returns a path such as `payload.items[3]['unit price']`.
 *
 * @param root start of the path; can be empty
 */
export function jsonPath(root: string, keys: readonly (string | number)[]): string {
  const path = keys.reduce<string>((text, key) => `${text}${segment(key, text === '')}`, root);
  const half = MAX_PATH_LENGTH / 2;
  return path.length > MAX_PATH_LENGTH ? `${path.slice(0, half)}…${path.slice(-half)}` : path;
}

function segment(key: string | number, isFirst: boolean): string {
  if (typeof key === 'number') return `[${key}]`;
  if (/^[A-Za-z_$][\w$]*$/.test(key)) return isFirst ? key : `.${key}`;
  return `['${key}']`;
}
