import { fileURLToPath } from 'node:url';
import { TestProcess } from '../../support/processes/test-process.js';
import type { Command, ConsumerConfig, PublisherConfig } from './programs/config.js';

/** Where the compiled programs are, seen from the sources and from what they are compiled to alike. */
const PROGRAMS = new URL('../../../dist-test/fleet/faults/programs/', import.meta.url);

/** A process that faults hit. */
export class Program extends TestProcess {
  readonly #ready: Promise<void>;

  constructor(kind: 'consumer' | 'publisher', config: ConsumerConfig | PublisherConfig, env: NodeJS.ProcessEnv = {}) {
    super(config.name, fileURLToPath(new URL(`${kind}.js`, PROGRAMS)), [JSON.stringify(config)], env);
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
