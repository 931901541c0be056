import { type Observable, defaultIfEmpty, defer, finalize, isObservable, lastValueFrom } from 'rxjs';
import type { InnerCalls } from '../../time/inner-calls.js';

/**
 * Resolves with the result of a handler or a hook. Its return value is awaited before it is inspected: an `async` method can return an
 * Observable, which nothing else would subscribe to, or be a generator, whose body nothing else would run.
 */
export function completed(result: unknown): Promise<unknown> {
  return Promise.resolve(result).then(runOut);
}

/** Returns a value that needs no run as it is: most handlers resolve with nothing. */
function runOut(value: unknown): unknown {
  if (isObservable(value)) return lastValueFrom(value, { defaultValue: undefined }).then(runOut);
  return isGenerator(value) ? runToEnd(value) : value;
}

/**
 * Does the same within Nest's pipeline: an Observable is left to Nest, so that interceptors see its values.
 *
 * @param calls follows the run to its end, whatever interceptors do
 */
export function completing(result: unknown, calls: InnerCalls): unknown {
  if (isObservable(result)) return followed(result, calls);
  if (isGenerator(result)) return calls.follow(runToEnd(result));
  return isThenable(result) ? calls.follow(Promise.resolve(result).then((value) => completing(value, calls))) : result;
}

function followed(observable: Observable<unknown>, calls: InnerCalls): Observable<unknown> {
  return defer(() => {
    // Nest treats an Observable without values as a failure; for a handler, only the completion counts.
    return observable.pipe(defaultIfEmpty<unknown, undefined>(undefined), finalize(calls.begin()));
  });
}

type AnyGenerator = Generator | AsyncGenerator;

async function runToEnd(generator: AnyGenerator): Promise<unknown> {
  let step = await generator.next();
  while (!step.done) step = await generator.next();
  return step.value as unknown;
}

/** Whether a value is a generator, judged by its tag, since it can come from another realm. */
function isGenerator(value: unknown): value is AnyGenerator {
  if (typeof value !== 'object') return false;
  const tag = Object.prototype.toString.call(value);
  return tag === '[object Generator]' || tag === '[object AsyncGenerator]';
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}
