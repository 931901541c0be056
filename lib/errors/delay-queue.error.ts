/**
 * Key of the kinds of an error. Each copy of this package in a process (two versions, or one in a bundle) has its own classes, so the kinds
 * identify the classes across copies: neither they nor this symbol must ever change.
 */
const KINDS = Symbol.for('nestjs-delay-queue.error');

/**
 * Base class of every error that this library throws. Branch on its `code` or on the class, never on the text of the message.
 *
 * @publicApi
 */
export abstract class DelayQueueError extends Error {
  static {
    defineKind(this, 'DELAY_QUEUE');
  }

  /** Stable identifier of the kind of error; part of the public API. */
  abstract readonly code: string;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }

  /** Also true for errors of another copy of this package, as for each class of errors. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return isInstance(this, value);
  }
}

interface ErrorClass {
  readonly prototype: object;
}

/** Gives a class of errors a kind, in addition to those of the class that it extends. Only this library's classes have one. */
export function defineKind({ prototype }: ErrorClass, kind: string): void {
  Object.defineProperty(prototype, KINDS, { value: Object.freeze([...kindsOf(prototype), kind]) });
}

/**
 * Returns the result of `instanceof`. Errors of another copy count by their kinds, even if a user derived their class there. A user's class
 * has no kind of its own: for it, `instanceof` works as usual.
 */
function isInstance(type: ErrorClass, value: unknown): boolean {
  try {
    if (Function.prototype[Symbol.hasInstance].call(type, value)) return true;
    return Object.hasOwn(type.prototype, KINDS) && kindsOf(value).includes(kindsOf(type.prototype).at(-1));
  } catch {
    // A value that cannot be inspected, such as a revoked proxy, is no error of this library.
    return false;
  }
}

function kindsOf(value: unknown): readonly unknown[] {
  const kinds = typeof value === 'object' && value !== null ? (value as { [KINDS]?: unknown })[KINDS] : undefined;
  return Array.isArray(kinds) ? kinds : [];
}
