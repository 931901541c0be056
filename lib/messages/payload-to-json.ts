import { types } from 'node:util';
import { jsonPath } from '../checks/json-path.js';
import { isDate, isError } from '../checks/kinds.js';
import { SerializationError } from '../errors/publishing.errors.js';
import { type StoredPayload, reasonOf } from './serializer.js';

/** An object or array within a payload, with its position. */
interface Place {
  readonly value: object;
  readonly parent: Place | undefined;
  readonly key: string | number;
}

/** A problem with a value. */
interface Fault {
  /** Text that follows the path in the message, such as `is NaN, which JSON would turn into null`. */
  readonly text: string;
  readonly advice: string;
  /** Whether a serializer can keep it. */
  readonly keepable: boolean;
}

interface Found {
  readonly fault: Fault;
  readonly parent: Place;
  readonly key: string | number;
}

/** Most searched objects: some return new ones from each `toJSON()`, so the search needs a limit. */
const MAX_SEARCHED = 100_000;

/** Recursion depth of the quick check. */
const MAX_RECURSION = 50;

const OR_SERIALIZE = `, or keep it with the option 'serializer' of the module or the topic (superjson fits)`;

/** Built-in classes whose content is not in their own properties. */
const CONTAINERS: ReadonlySet<string> = new Set(['[object Map]', '[object Set]', '[object RegExp]']);

/**
 * Writes a payload as JSON, and refuses values that would come back as something else. Some changes are expected and allowed: a `Date`
 * becomes a string, an instance loses its methods, `undefined` properties are left out, and `toJSON()` is used.
 *
 * @param name the payload's name in errors
 * @throws SerializationError with the path of a value that JSON cannot hold, or would change
 */
export function toJson(
  { payload, serialized }: StoredPayload,
  name = serialized ? 'serialize(payload)' : 'payload',
): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(payload);
  } catch (error) {
    throw refusal(name, findFault(payload, new Set()), error);
  }
  if (json === undefined) {
    throw new SerializationError(
      `${name} is ${nameOf(payload)}, which JSON cannot hold. Publish null if there is no payload.`,
    );
  }
  if (isSurelyKept(payload, MAX_RECURSION)) return json;
  const found = findFault(payload);
  if (found) throw refusal(name, found);
  return json;
}

/** Returns true for nearly all payloads; false means that a closer look is needed. Call it only if JSON can hold the value. */
function isSurelyKept(value: unknown, depth: number): boolean {
  if (isKept(value)) return true;
  if (typeof value !== 'object' || value === null || depth === 0) return false;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) if (!isSurelyKept(value[i], depth - 1)) return false;
    return true;
  }
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') {
    return isDate(value) && !Number.isNaN(value.getTime());
  }
  if (faultOfObject(value)) return false;
  // `Object.values` would make an array for every message.
  for (const key in value) {
    const property: unknown = (value as Record<string, unknown>)[key];
    if (property !== undefined && !isSurelyKept(property, depth - 1)) return false;
  }
  return true;
}

function refusal(name: string, found: Found | undefined, cause?: unknown): SerializationError {
  if (!found) {
    return new SerializationError(`${name} cannot be written as JSON (${reasonOf(cause)}). Publish plain data.`, {
      cause,
    });
  }
  const { text, advice, keepable } = found.fault;
  const orElse = keepable && name === 'payload' ? OR_SERIALIZE : '';
  return new SerializationError(`${pathOf(name, found)} ${text}. ${advice}${orElse}.`, { cause });
}

/** @param seen collects the searched objects; given if JSON cannot hold the value, which may then be endless */
function findFault(root: unknown, seen?: Set<object>): Found | undefined {
  try {
    return new Search(seen).run(root);
  } catch {
    // JSON.stringify() has thrown the same error already, and that one is reported.
    return undefined;
  }
}

/** Searches a value without recursion, since payloads may be nested deeper than the stack allows. */
class Search {
  readonly #seen: Set<object> | undefined;
  readonly #open: Place[] = [];
  #searched = 0;

  constructor(seen: Set<object> | undefined) {
    this.#seen = seen;
  }

  run(root: unknown): Found | undefined {
    let place: Place | undefined = { value: { '': root }, parent: undefined, key: '' };
    for (; place; place = this.#open.pop()) {
      this.#seen?.add(place.value);
      const found = this.#searchIn(place);
      if (found) return found;
      if (this.#seen && ++this.#searched > MAX_SEARCHED) return undefined;
    }
    return undefined;
  }

  #searchIn(parent: Place): Found | undefined {
    const { value } = parent;
    if (Array.isArray(value)) {
      for (let key = 0; key < value.length; key++) {
        const element: unknown = value[key];
        const fault = isKept(element) ? undefined : this.#faultOf(element, parent, key);
        if (fault) return { fault, parent, key };
      }
      return undefined;
    }
    for (const [key, property] of Object.entries(value) as [string, unknown][]) {
      const fault = isKept(property) ? undefined : this.#faultOf(property, parent, key);
      if (fault) return { fault, parent, key };
    }
    return undefined;
  }

  /** Returns the problem with the value itself; its content is searched later. */
  #faultOf(given: unknown, parent: Place, key: string | number): Fault | undefined {
    const value = whatJsonTakes(given, key);
    if (isKept(value)) return undefined;
    if (typeof value !== 'object' || value === null) return faultOfPrimitive(value, Array.isArray(parent.value));
    const fault = faultOfObject(value) ?? (this.#isWithinItself(value, parent) ? CYCLE : undefined);
    if (!fault) this.#open.push({ value, parent, key });
    return fault;
  }

  #isWithinItself(value: object, parent: Place): boolean {
    if (!this.#seen?.has(value)) return false;
    let place: Place | undefined = parent;
    while (place && place.value !== value) place = place.parent;
    return place !== undefined;
  }
}

/** True for nearly all values. */
function isKept(value: unknown): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true;
    case 'number':
      return Number.isFinite(value);
    default:
      return value === null;
  }
}

/** Returns the value that `JSON.stringify()` continues with: the result of `toJSON()`, whose own `toJSON()` is not called. */
function whatJsonTakes(value: unknown, key: string | number): unknown {
  const { toJSON } = (value ?? {}) as { toJSON?: unknown };
  if (typeof toJSON !== 'function') return value;
  // Not called, since the result is known: Dates are frequent, and Buffers may be long.
  if (isDate(value)) return Number.isNaN(value.getTime()) ? value : null;
  if (Buffer.isBuffer(value)) return null;
  return toJSON.call(value, String(key)) as unknown;
}

const CYCLE: Fault = {
  text: 'leads back to an object that it is part of, and JSON cannot hold a cycle',
  advice: 'Publish an id in its place',
  keepable: true,
};

function faultOfPrimitive(value: unknown, isElement: boolean): Fault | undefined {
  switch (typeof value) {
    case 'number':
      return { text: `is ${value}, ${BECOMES_NULL}`, advice: 'Publish a finite number, or null', keepable: true };
    case 'bigint':
      return { text: 'is a BigInt, which JSON cannot hold', advice: 'Publish it as a string', keepable: true };
    case 'undefined':
      if (!isElement) return undefined;
      return { text: `is undefined, ${BECOMES_NULL}`, advice: 'Publish null, or leave it out', keepable: true };
    default:
      return {
        text: `is a ${typeof value}, ${isElement ? BECOMES_NULL : 'which JSON would leave out'}`,
        advice: 'Leave it out',
        keepable: false,
      };
  }
}

const BECOMES_NULL = 'which JSON would turn into null';

/** Returns the problem with an object whose content JSON loses. Instances of the application's own classes have none. */
function faultOfObject(value: object): Fault | undefined {
  const prototype = Object.getPrototypeOf(value) as { constructor?: { name?: string } } | null;
  if (prototype === null || prototype === Object.prototype || Array.isArray(value)) return undefined;
  if (isDate(value) && Number.isNaN(value.getTime())) {
    return { text: `is an invalid Date, ${BECOMES_NULL}`, advice: 'Publish a valid one, or null', keepable: true };
  }
  if (typeof (value as { then?: unknown }).then === 'function') {
    return { text: 'is a promise', advice: 'Await it first', keepable: false };
  }
  const kind = Object.prototype.toString.call(value);
  if (kind === '[object Object]' || types.isBoxedPrimitive(value)) return undefined;
  const isEmpty = Object.keys(value).length === 0;
  const isContainer = CONTAINERS.has(kind) || ArrayBuffer.isView(value) || isError(value);
  if (!isEmpty && !isContainer) return undefined;
  return {
    text: `is an instance of ${prototype.constructor?.name ?? 'a class'}, which JSON would turn into ${isEmpty ? '{}' : 'a plain object'}`,
    advice: 'Publish what it holds as plain data',
    keepable: true,
  };
}

function nameOf(payload: unknown): string {
  if (payload === undefined) return 'undefined';
  return typeof payload === 'object' ? 'an object whose toJSON() answers nothing' : `a ${typeof payload}`;
}

/** Returns a path such as `payload.items[3]['unit price']`. */
function pathOf(name: string, { parent, key }: Found): string {
  const keys = [key];
  for (let place = parent; place.parent; place = place.parent) keys.push(place.key);
  // The first step leads from the object that holds the payload to the payload.
  keys.pop();
  return jsonPath(name, keys.toReversed());
}
