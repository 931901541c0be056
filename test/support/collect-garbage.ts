/** Needs the flag that the configuration of vitest gives to its workers. */
export async function collectGarbage(): Promise<void> {
  const { gc } = globalThis;
  if (!gc) throw new Error('Run node with --expose-gc.');
  for (let round = 0; round < 5; round++) {
    await new Promise((resolve) => setImmediate(resolve));
    gc();
  }
}
