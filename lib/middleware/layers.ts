import { ConfigurationError } from '../errors/options.errors.js';

/** A function around an operation, or around the next such function. */
export interface Layer<I, R> {
  /** For messages, such as `middleware[0].publish`. */
  readonly name: string;
  readonly call: (input: I, next: () => Promise<R>) => Promise<R>;
}

/**
 * Runs an operation within layers, of which the first is the outermost. It does not run where one of them does not go on.
 *
 * @throws ConfigurationError out of `next()`, where a layer calls it again; else what the layers and the operation throw
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
