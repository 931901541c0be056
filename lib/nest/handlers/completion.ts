import { type Observable, defaultIfEmpty, defer, finalize, isObservable, lastValueFrom } from 'rxjs';
import type { InnerCalls } from '../../time/inner-calls.js';

/**
 * What a handler or a hook has come to. What it returns is awaited first and looked at then: an `async` method may return an Observable,
 * which nobody else would subscribe to, or be a generator, whose body nobody else would run.
 */
export async function completed(result: unknown): Promise<unknown> {
  let value: unknown = await result;
  while (isObservable(value)) value = await lastValueFrom(value, { defaultValue: undefined });
  return isGenerator(value) ? runToEnd(value) : value;
}

/**
 * The same for what Nest runs around a handler: an Observable is left to it, so that interceptors see its values.
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
    // Nest takes an Observable without values for a failure; of a handler, only the completion counts.
    return observable.pipe(defaultIfEmpty<unknown, undefined>(undefined), finalize(calls.begin()));
  });
}

type AnyGenerator = Generator | AsyncGenerator;

async function runToEnd(generator: AnyGenerator): Promise<unknown> {
  let step = await generator.next();
  while (!step.done) step = await generator.next();
  return step.value as unknown;
}

/** By what it says of itself, since it may come from another realm. */
function isGenerator(value: unknown): value is AnyGenerator {
  const tag = Object.prototype.toString.call(value);
  return tag === '[object Generator]' || tag === '[object AsyncGenerator]';
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}
