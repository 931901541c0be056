import { createRequire } from 'node:module';
import vm from 'node:vm';
import { SeededRandom } from '../../support/random.js';
import { type Surroundings, globalsOf, modulesOf } from './globals.js';
import { PRODUCT_SCRIPT } from './stacks.js';

export type Product = typeof import('./entry.js');

/** One copy of the product. */
export interface Copy {
  readonly product: Product;
  /** Of whatever is played with it now. */
  surroundings: Surroundings;
  /** Another build, which some of the processes run. */
  beside?: Copy | undefined;
}

const require = createRequire(import.meta.url);

/** What modules get that draw numbers while they are loaded. */
function loading(): Surroundings {
  return { random: new SeededRandom(1), now: nothing, setTimer: nothing };
}

function nothing(): never {
  throw new Error('Nothing is played');
}

/**
 * Evaluates what was bundled as a function whose parameters are named as globals. So it has the objects of this realm, and
 * nothing is patched for those who simulate.
 *
 * @param code CommonJS
 */
export function evaluate(code: string): Copy {
  const copy: { product?: Product; surroundings: Surroundings } = { surroundings: loading() };
  const current = (): Surroundings => copy.surroundings;
  const globals = globalsOf(current);
  const modules = modulesOf(current);
  const given = (id: string): unknown => modules[id.replace(/^node:/, '')] ?? require(id);
  const module = { exports: {} };
  const names = ['exports', 'require', 'module', ...Object.keys(globals)];
  const run = vm.compileFunction(code, names, { filename: PRODUCT_SCRIPT }) as (...given: unknown[]) => void;
  run(module.exports, given, module, ...Object.values(globals));
  copy.product = module.exports as Product;
  return copy as Copy;
}
