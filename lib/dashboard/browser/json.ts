/** Type of a value after a round trip through JSON. */
export type Json<T> = T extends Date
  ? string
  : T extends (infer One)[] | readonly (infer One)[]
    ? Json<One>[]
    : T extends object
      ? { [K in keyof T]: Json<T[K]> }
      : T;
