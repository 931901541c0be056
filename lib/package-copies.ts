import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { VERSION } from './version.js';
import type { Log } from './log.js';

type Class = abstract new (...dependencies: never[]) => object;

/** A copy of this package as others see it, older and newer versions too. So nothing of it may ever change. */
interface Copy {
  /** The classes that are injected by class, by the name under which they are exported. */
  readonly classes: ReadonlyMap<string, Class>;
  /** Version and folder. */
  describe(): string;
}

/** All copies of this process, held weakly: a test runner loads copies and drops them. */
interface Copies {
  readonly loaded: WeakRef<Copy>[];
  /** Called for each copy that is loaded after a module has booted. */
  onLoaded?: () => void;
}

const COPIES = Symbol.for('nestjs-delay-queue.copies');

const classes = new Map<string, Class>();
const own: Copy = { classes, describe: () => `${VERSION}${place()}` };

/**
 * Makes a class known to the other copies, whose modules then provide it too. Each class calls this in its own definition, so
 * that a bundler cannot keep the class and drop the call.
 *
 * @param name under which it is exported; its own may have been minified
 */
export function shareClass(name: string, type: Class): void {
  const isFirst = classes.size === 0;
  classes.set(name, type);
  if (!isFirst) return;
  const { loaded, onLoaded } = copies();
  loaded.push(new WeakRef(own));
  onLoaded?.();
}

/** The classes of the same name in other copies; none if `type` is not a class that is shared. */
export function twinsOf(type: unknown): Class[] {
  const name = [...classes.keys()].find((key) => classes.get(key) === type);
  if (name === undefined) return [];
  return alive().flatMap((copy) => (copy === own ? [] : (copy.classes.get(name) ?? [])));
}

/** Warns once a process if there are several copies, now or as soon as another one is loaded. */
export function warnOfCopies(log: Log): void {
  const registry = copies();
  registry.onLoaded ??= () => {
    const found = alive();
    if (found.length < 2) return;
    registry.onLoaded = () => {};
    log.warn(
      `${found.length} copies of nestjs-delay-queue are loaded in this process: ` +
        `${found.map((copy) => copy.describe()).join('; ')}. They work together, but what a copy injects by class can only ` +
        `be injected if the copy was loaded before the application was created, and two versions may differ. Keep one: ` +
        `install one version everywhere ('npm ls nestjs-delay-queue' shows all, 'npm dedupe' may help).`,
    );
  };
  registry.onLoaded();
}

function copies(): Copies {
  const holder = globalThis as { [COPIES]?: Copies };
  return (holder[COPIES] ??= { loaded: [] });
}

function alive(): Copy[] {
  return copies().loaded.flatMap((reference) => reference.deref() ?? []);
}

/** Where this copy lies, read from a stack trace: no other way works in all that bundlers make of CommonJS. */
function place(): string {
  const [, file] = /^ +at (?:.*? \()?(.+?):\d+:\d+\)?$/m.exec(String(new Error().stack)) ?? [];
  if (file === undefined) return ' in an unknown folder';
  const path = file.startsWith('file:') ? fileURLToPath(file) : file;
  const [folder = dirname(path)] = /^.*(?=[\\/]dist[\\/]cjs[\\/])/.exec(path) ?? [];
  return ` in ${folder}`;
}
