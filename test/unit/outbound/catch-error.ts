/** What a function throws. */
export function catchError(work: () => unknown): Error {
  try {
    work();
  } catch (error) {
    return error as Error;
  }
  throw new Error('It threw nothing');
}
