/** A property of a value, or of each value of a batch; the value itself if no property is asked for. */
export function pick(value: unknown, property: unknown, isBatch: boolean): unknown {
  if (typeof property !== 'string') return value;
  if (isBatch) return (value as readonly unknown[]).map((each) => pick(each, property, false));
  return (value as Record<string, unknown> | null | undefined)?.[property];
}
