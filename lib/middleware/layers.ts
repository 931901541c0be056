import { ConfigurationError } from '../errors/options.errors.js';

/** A function around an operation, or around the next such function. What it returns is the result, unless it only looks on. */
export interface Layer<I, R, Returned = R> {
  /** For messages, such as `middleware[0].publish`. */
  readonly name: string;
  readonly call: (input: I, next: () => Promise<R>) => Promise<Returned>;
}

/**
 * Runs an operation within layers; the first is the outermost. It does not run if one of them does not call `next()`.
 *
 * @throws ConfigurationError out of `next()`, if a layer calls it again; else what the layers and the operation throw
 */
export async function runWithin<I, R>(
  layers: readonly Layer<I, R>[],
  input: I,
  operation: () => Promise<R>,
): Promise<R> {
  const enter = async (depth: number): Promise<R> => {
    const layer = layers[depth];
    if (!layer) return operation();
    let wentOn = false;
    return layer.call(input, async () => {
      if (wentOn) {
        throw new ConfigurationError(
          `${layer.name} called next() a second time, which would publish or handle the same messages again. Call it once.`,
        );
      }
      wentOn = true;
      return enter(depth + 1);
    });
  };
  return enter(0);
}

/**
 * Makes a layer of one that only looks on: what is inside of it runs once and its result counts, whatever the layer does.
 *
 * @param onFault called with what the layer does wrong
 */
export function lookingOn<I, R>({ name, call }: Layer<I, R, unknown>, onFault: (error: unknown) => void): Layer<I, R> {
  return {
    name,
    call: async (input, next) => {
      let inner: Promise<R> | undefined;
      let fault: { readonly error: unknown } | undefined;
      try {
        await call(input, () => (inner ??= next()));
        if (!inner) throw new ConfigurationError(`${name} did not call next(). Call it once.`);
      } catch (error) {
        fault = { error };
      }
      const result = await (inner ?? next());
      // Not before: a layer that passes on what the inside rejects with has done nothing wrong.
      if (fault) onFault(fault.error);
      return result;
    },
  };
}
