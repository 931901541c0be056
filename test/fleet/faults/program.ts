import { fileURLToPath } from 'node:url';
import { TestProcess } from '../../support/processes/test-process.js';
import type { Command } from './programs/config.js';

/** Where the compiled programs are, seen from the sources and from what they are compiled to alike. */
const PROGRAMS = new URL('../../../dist-test/', import.meta.url);

/** A process that faults hit. */
export class Program extends TestProcess {
  readonly #ready: Promise<void>;

  /**
   * @param program its path in `test`, without an ending
   * @param env beside the variables of this process
   */
  constructor(program: string, config: { readonly name: string }, env: NodeJS.ProcessEnv = {}) {
    super(config.name, fileURLToPath(new URL(`${program}.js`, PROGRAMS)), [JSON.stringify(config)], env);
    this.#ready = new Promise((resolve) => this.onMessage(() => resolve()));
  }

  async ready(): Promise<void> {
    await Promise.race([
      this.#ready,
      this.exit().then(() => Promise.reject(new Error(`${this.name} ended early:\n${this.output}`))),
    ]);
  }

  override send(command: Command): void {
    super.send(command);
  }
}
