import { Injectable } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { didYouMean } from '../checks/nearest.js';
import { RECURRING_HANDLER_METADATA } from '../decorators/delay-queue.constants.js';
import { ConfigurationError } from '../errors/options.errors.js';

export type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Nest's record of a provider or controller. */
export type InstanceWrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** Whether one instance serves the whole application: neither it, nor what it depends on, is request-scoped or transient. */
export function isStatic(wrapper: InstanceWrapper): boolean {
  return !wrapper.isTransient && wrapper.isDependencyTreeStatic();
}

/** A method with a decorator, on a provider or controller. */
export interface DecoratedMethod<M> {
  /** For logs and errors, such as `OrderService.onTimeout`. */
  readonly label: string;
  readonly wrapper: InstanceWrapper;
  readonly type: object;
  readonly name: string;
  /** As the class declares it; decorators leave their metadata on it. */
  readonly method: Method;
  readonly metadata: M;
}

/** Finds decorated methods on the providers and controllers of the application. */
@Injectable()
export class DecoratedMethods {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly reflector: Reflector,
  ) {}

  /** The methods that have the metadata, each once. */
  *find<M>(key: string): Generator<DecoratedMethod<M>> {
    const seen = new Set<object>();
    for (const wrapper of this.#wrappers()) {
      const instance = wrapper.instance as object | null | undefined;
      // What an alias stands for is found by itself, and an instance that is provided twice counts once.
      if (wrapper.isAlias || typeof instance !== 'object' || instance === null || seen.has(instance)) continue;
      seen.add(instance);
      const prototype = Object.getPrototypeOf(instance) as Record<string, Method> | null;
      if (prototype === null) continue;
      const type = prototype.constructor;
      for (const name of this.scanner.getAllMethodNames(prototype)) {
        const method = prototype[name] as Method;
        const metadata = this.reflector.get<M | undefined>(key, method);
        if (metadata) yield { label: `${type.name}.${name}`, wrapper, type, name, method, metadata };
      }
    }
  }

  /** Classes first: if a factory provides an instance again, only the module of the class knows what is bound to the class. */
  #wrappers(): InstanceWrapper[] {
    return [...this.discovery.getProviders(), ...this.discovery.getControllers()].toSorted(
      (a, b) => Number(a.isNotMetatype) - Number(b.isNotMetatype),
    );
  }
}

/** Where a handler stands, for errors, such as `@DelayedHandler on OrderService.onTimeout`. */
export function whereOf({ label, method }: Pick<DecoratedMethod<unknown>, 'label' | 'method'>): string {
  const isRecurring: boolean = Reflect.hasMetadata(RECURRING_HANDLER_METADATA, method);
  return `@${isRecurring ? 'RecurringHandler' : 'DelayedHandler'} on ${label}`;
}

/**
 * @param where what asks for the connection, such as `@DelayedHandler on OrderService.onTimeout`
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
