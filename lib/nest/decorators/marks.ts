import { ConfigurationError } from '../../errors/options.errors.js';
import { ENTRY_PROVIDER_METADATA } from './delay-queue.tokens.js';

/** Mark that a decorator of this library leaves on a member of a class. */
export interface Mark<M = unknown> {
  /** Name of the decorator, such as `DelayedHandler`. */
  readonly decorator: string;
  readonly member: string | symbol;
  /** Decorated method, if it was one. Another decorator, or a test, may have replaced it since. */
  readonly method: object | undefined;
  readonly isStatic: boolean;
  readonly metadata: M;
}

/** Arguments that compilers call a decorator with. */
type Place = readonly [target: object, member: string | symbol | object, descriptor?: PropertyDescriptor];

/**
 * Marks a member to be found at boot. The mark is stored on the class, since another decorator can replace the method. Whether the member
 * can be called is checked when it is found, so that the error comes at boot with all others.
 *
 * @throws ConfigurationError at once if the compiler does not tell which class the member belongs to
 */
export function mark(key: string, decorator: string, [target, member, descriptor]: Place, metadata: unknown): void {
  // Standard ECMAScript decorators are called with the method and a context object.
  if (typeof member === 'object') {
    throw new ConfigurationError(
      `@${decorator} was called as a decorator of ECMAScript, which Nest does not know. Set "experimentalDecorators": true in ` +
        `tsconfig.json, or what the compiler has in its place.`,
    );
  }
  const isStatic = typeof target === 'function';
  const prototype = isStatic ? (target as { prototype: object }).prototype : target;
  const value = descriptor?.value as unknown;
  const method = typeof value === 'function' ? value : undefined;
  const others = (Reflect.getOwnMetadata(key, prototype) ?? []) as Mark[];
  Reflect.defineMetadata(key, [...others, { decorator, member, method, isStatic, metadata }], prototype);
  Reflect.defineMetadata(ENTRY_PROVIDER_METADATA, true, prototype.constructor);
}

/** Returns the marks of a class by member. A member that a subclass marks anew has only the marks of the subclass. */
export function marksOf<M>(key: string, prototype: object): Map<string | symbol, readonly Mark<M>[]> {
  const marks = new Map<string | symbol, readonly Mark<M>[]>();
  for (let each: object | null = prototype; each !== null; each = Object.getPrototypeOf(each) as object | null) {
    const own = (Reflect.getOwnMetadata(key, each) ?? []) as readonly Mark<M>[];
    for (const { member } of own) {
      if (marks.has(member)) continue;
      const ofMember = own.filter((one) => one.member === member);
      marks.set(member, ofMember);
    }
  }
  return marks;
}
