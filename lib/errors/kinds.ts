/**
 * Where an error says of which kinds it is. Each copy of this package in a process (CommonJS beside ES modules, or two
 * versions) has classes of its own, so among copies the kinds stand for the classes: neither they nor this symbol may change.
 */
const KINDS = Symbol.for('nestjs-delay-queue.error');

interface ErrorClass {
  readonly prototype: object;
}

/** Gives a class of errors a kind, beside those of the class that it extends. Only this library's classes have one. */
export function defineKind({ prototype }: ErrorClass, kind: string): void {
  Object.defineProperty(prototype, KINDS, { value: Object.freeze([...kindsOf(prototype), kind]) });
}

/**
 * What `instanceof` answers. Errors of another copy count by their kinds, also where their class is one that a user derived
 * there. A user's class has no kind of its own: for it, `instanceof` means what it always does.
 */
export function isInstance(type: ErrorClass, value: unknown): boolean {
  if (Function.prototype[Symbol.hasInstance].call(type, value)) return true;
  return Object.hasOwn(type.prototype, KINDS) && kindsOf(value).includes(kindsOf(type.prototype).at(-1));
}

function kindsOf(value: unknown): readonly unknown[] {
  const kinds = typeof value === 'object' && value !== null ? (value as { [KINDS]?: unknown })[KINDS] : undefined;
  return Array.isArray(kinds) ? kinds : [];
}
