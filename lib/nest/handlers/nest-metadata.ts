import { Body, UseFilters, UseGuards, UseInterceptors, UsePipes } from '@nestjs/common';

// Nest does not export the names under which its decorators store things. They are read from the decorators here.

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

/** Where Nest stores what parameter decorators say, on the class, by method. */
export const PARAMETERS_METADATA = Reflect.getMetadataKeys(Probe, 'method')[0] as string;

/** What is stored of one decorated parameter. */
export interface ParameterMetadata {
  readonly index: number;
  /** Given to the decorator, such as the name of a property. */
  readonly data?: unknown;
  /** Set by `createParamDecorator()` only. */
  readonly factory?: unknown;
  /** Classes, and instances. */
  readonly pipes?: readonly unknown[];
}

/** The decorated parameters of a method, by `type:index`. */
export function parametersOf(type: object, method: string): Readonly<Record<string, ParameterMetadata>> {
  const metadata: unknown = Reflect.getMetadata(PARAMETERS_METADATA, type, method);
  return (metadata ?? {}) as Record<string, ParameterMetadata>;
}

/** The type under which Nest stores a parameter that is marked with `@Body()`. */
export const BODY = Object.keys(parametersOf(Probe, 'method'))[0]?.split(':')[0] as string;

/** Whether guards, interceptors or pipes are bound to a class or a method. */
export function isEnhanced(target: object): boolean {
  return ENHANCERS.some((key) => Reflect.hasMetadata(key, target));
}

/** Whether exception filters are bound to a class or a method. */
export function isFiltered(target: object): boolean {
  return Reflect.hasMetadata(FILTERS, target);
}

/** What is bound to a class or a method: classes, and instances. */
export function enhancersOf(target: object): unknown[] {
  return [...ENHANCERS, FILTERS].flatMap((key) => (Reflect.getMetadata(key, target) ?? []) as unknown[]);
}

/** A function that stands for another one when Nest looks for what is bound to it. */
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
