/** Makes `calls` calls, `inTheAir` of them at the same time: when one ends, the next begins. */
export async function pump(calls: number, inTheAir: number, call: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < calls) await call(next++);
  };
  await Promise.all(Array.from({ length: inTheAir }, lane));
}
