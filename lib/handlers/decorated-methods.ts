import type { MetadataScanner, Reflector } from '@nestjs/core';
import type { InstanceWrapper, Method } from './handler-pipeline.js';

/** A method with a decorator, on a provider or controller. */
export interface DecoratedMethod<M> {
  /** For logs and errors, such as `OrderService.onTimeout`. */
  readonly label: string;
  readonly wrapper: InstanceWrapper;
  readonly type: object;
  readonly name: string;
  /** As the class declares it. */
  readonly method: Method;
  readonly metadata: M;
}

/** What Nest has, to look for methods in. */
export interface Searched {
  readonly wrappers: readonly InstanceWrapper[];
  readonly scanner: MetadataScanner;
  readonly reflector: Reflector;
}

/** The methods that have this metadata, each once. */
export function* decoratedMethods<M>(
  { wrappers, scanner, reflector }: Searched,
  key: string,
): Generator<DecoratedMethod<M>> {
  const seen = new Set<object>();
  for (const wrapper of wrappers) {
    const instance = wrapper.instance as object | null | undefined;
    // What an alias stands for is found by itself, and an instance that is provided twice is still one.
    if (wrapper.isAlias || typeof instance !== 'object' || instance === null || seen.has(instance)) continue;
    seen.add(instance);
    const prototype = Object.getPrototypeOf(instance) as Record<string, Method> | null;
    if (prototype === null) continue;
    const type = prototype.constructor;
    for (const name of scanner.getAllMethodNames(prototype)) {
      const method = prototype[name] as Method;
      const metadata = reflector.get<M | undefined>(key, method);
      if (metadata) yield { label: `${type.name}.${name}`, wrapper, type, name, method, metadata };
    }
  }
}

/** Where a factory provides an instance once more, what is bound to its class is known to the module of the class alone. */
export function classesFirst(a: InstanceWrapper, b: InstanceWrapper): number {
  return Number(a.isNotMetatype) - Number(b.isNotMetatype);
}
