import { Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { didYouMean } from '../../checks/nearest.js';
import { type Mark, marksOf } from '../decorators/marks.js';
import { ConfigurationError } from '../../errors/options.errors.js';
import { withMetadataOf } from './nest-metadata.js';

export type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Nest's record of a provider or controller. */
export type InstanceWrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** A method with a decorator, on a provider or controller. */
export interface DecoratedMethod<M> {
  /** Name for logs and errors, such as `OrderService.onTimeout`. */
  readonly label: string;
  /** Same name with the decorator, such as `@DelayedHandler on OrderService.onTimeout`. */
  readonly where: string;
  readonly wrapper: InstanceWrapper;
  readonly type: object;
  readonly name: string;
  /** Function with the metadata of all decorators. It is never called: the method is called by its name. */
  readonly method: Method;
  readonly metadata: M;
}

/** Finds decorated methods on the providers and controllers of the application. */
@Injectable()
export class DecoratedMethods {
  constructor(private readonly discovery: DiscoveryService) {}

  /**
   * Yields the methods that have marks, once per mark.
   *
   * @throws ConfigurationError for a member that cannot be called
   */
  *find<M>(key: string): Generator<DecoratedMethod<M>> {
    const seen = new Set<object>();
    for (const wrapper of this.#wrappers()) {
      const instance = wrapper.instance as object | null | undefined;
      // The target of an alias is found by itself, and an instance that is provided twice counts once.
      if (wrapper.isAlias || typeof instance !== 'object' || instance === null || seen.has(instance)) continue;
      seen.add(instance);
      const prototype = Object.getPrototypeOf(instance) as object | null;
      if (prototype === null) continue;
      const type = prototype.constructor;
      for (const marks of marksOf<M>(key, prototype).values()) {
        for (const { decorator, metadata, ...marked } of marks) {
          const label = `${type.name}.${String(marked.member)}`;
          const where = `@${decorator} on ${label}`;
          const method = methodOf(where, marked, prototype);
          yield { label, where, wrapper, type, name: marked.member as string, method, metadata };
        }
      }
    }
  }

  /** Returns all wrappers, classes first: if a factory provides an instance again, only the module of the class knows its enhancers. */
  #wrappers(): InstanceWrapper[] {
    return [...this.discovery.getProviders(), ...this.discovery.getControllers()].toSorted(
      (a, b) => Number(a.isNotMetatype) - Number(b.isNotMetatype),
    );
  }
}

/**
 * Returns the function to search for a marked method's metadata. If another function has taken its place, such as from a decorator above, a
 * subclass or a test, the metadata of both counts.
 */
function methodOf(
  where: string,
  { member, method, isStatic }: Omit<Mark, 'decorator' | 'metadata'>,
  prototype: object,
): Method {
  const current = valueOf(prototype, member);
  const fault = isStatic
    ? 'it is static'
    : typeof member === 'symbol'
      ? 'its name is a symbol'
      : method === undefined || typeof current !== 'function'
        ? 'it is a property or an accessor'
        : undefined;
  if (fault !== undefined) {
    throw new ConfigurationError(`${where}: ${fault}. Put the decorator on a method of instances that has a name.`);
  }
  const marked = method as Method;
  if (current === marked) return marked;
  const both: Method = newMethod();
  Object.defineProperties(both, {
    name: { value: marked.name },
    length: { value: Math.max(marked.length, (current as Method).length) },
  });
  return withMetadataOf(current as Method, withMetadataOf(marked, both));
}

/** Metadata can be stored on it. */
function newMethod(): Method {
  return () => undefined;
}

/** Returns a member's value without calling an accessor. */
function valueOf(prototype: object, member: string | symbol): unknown {
  for (let each: object | null = prototype; each !== null; each = Object.getPrototypeOf(each) as object | null) {
    const descriptor = Object.getOwnPropertyDescriptor(each, member);
    if (descriptor) return descriptor.value as unknown;
  }
  return undefined;
}

/**
 * @param where place that names the connection, such as `@DelayedHandler on OrderService.onTimeout`
 * @param known names of all connections of the application
 * @throws ConfigurationError if the connection does not exist
 */
export function assertConnection(where: string, connection: string, known: ReadonlySet<string>): void {
  if (known.has(connection)) return;
  throw new ConfigurationError(
    `${where}: there is no connection '${connection}'.${didYouMean(connection, known)} Known connections: ` +
      `${[...known].join(', ')}. Choose one of them as its 'connection', or import DelayQueueModule.forRoot({ name: '${connection}' }).`,
  );
}
