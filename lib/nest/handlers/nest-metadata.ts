import { Body, UseFilters, UseGuards, UseInterceptors, UsePipes } from '@nestjs/common';

// Nest does not export the metadata keys of its decorators. They are read from the decorators here.

const ENHANCERS = [
  UseGuards({ canActivate: () => true }),
  UseInterceptors({ intercept: (_context, next) => next.handle() }),
  UsePipes({ transform: (value: unknown) => value }),
].map(keyOf);

const FILTERS = keyOf(UseFilters({ catch: () => undefined }));

class Probe {
  method(): void {}
}
Body()(Probe.prototype, 'method', 0);

/** Key under which Nest stores the metadata of parameter decorators, on the class, by method. */
export const PARAMETERS_METADATA = Reflect.getMetadataKeys(Probe, 'method')[0] as string;

/** Stored metadata of one decorated parameter. */
export interface ParameterMetadata {
  readonly index: number;
  /** Argument of the decorator, such as the name of a property. */
  readonly data?: unknown;
  /** Factory, set only by `createParamDecorator()`. */
  readonly factory?: unknown;
  /** Pipes as classes and instances. */
  readonly pipes?: readonly unknown[];
}

/** Returns the decorated parameters of a method, by `type:index`. */
export function parametersOf(type: object, method: string): Readonly<Record<string, ParameterMetadata>> {
  const metadata: unknown = Reflect.getMetadata(PARAMETERS_METADATA, type, method);
  return (metadata ?? {}) as Record<string, ParameterMetadata>;
}

/** Type under which Nest stores a parameter marked with `@Body()`. */
export const BODY = Object.keys(parametersOf(Probe, 'method'))[0]?.split(':')[0] as string;

/** Whether guards, interceptors or pipes are bound to a class or a method. */
export function isEnhanced(target: object): boolean {
  return ENHANCERS.some((key) => Reflect.hasMetadata(key, target));
}

/** Whether exception filters are bound to a class or a method. */
export function isFiltered(target: object): boolean {
  return Reflect.hasMetadata(FILTERS, target);
}

/** Returns the enhancers of a class or a method, as classes and instances. */
export function enhancersOf(target: object): unknown[] {
  return [...ENHANCERS, FILTERS].flatMap((key) => (Reflect.getMetadata(key, target) ?? []) as unknown[]);
}

/** Copies all metadata of a function to its stand-in, for Nest to find its enhancers there. */
export function withMetadataOf<T extends object>(source: object, target: T): T {
  for (const key of Reflect.getMetadataKeys(source) as unknown[]) {
    Reflect.defineMetadata(key, Reflect.getMetadata(key, source), target);
  }
  return target;
}

function keyOf(decorator: MethodDecorator): string {
  const method = decorator.bind(undefined);
  void decorator({}, 'method', { value: method });
  return Reflect.getMetadataKeys(method)[0] as string;
}
