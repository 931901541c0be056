/** Makes `calls` calls, so many at the same time: each that ends is followed by the next. */
export async function pump(calls: number, inTheAir: number, call: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < calls) await call(next++);
  };
  await Promise.all(Array.from({ length: inTheAir }, lane));
}
