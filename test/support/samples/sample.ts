import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject } from 'vitest';
import { buildSample } from '../../../scripts/setup/build.mjs';
import { TestProcess } from '../processes/test-process.js';
import { StoredKeys } from './stored-keys.js';

/** A sample whose applications run as processes, on a prefix of their own. */
export class Sample {
  readonly prefix = `sample-${randomUUID()}`;
  readonly redisUrl = inject('redisUrl');
  readonly stored = new StoredKeys(this.redisUrl, this.prefix);
  readonly #processes: TestProcess[] = [];

  constructor(readonly name: string) {}

  /** @param application name of the file that starts it, without `.ts` */
  start(application: string, env: NodeJS.ProcessEnv = {}): TestProcess {
    const settings = { REDIS_URL: this.redisUrl, QUEUE_PREFIX: this.prefix, NO_COLOR: '1', ...env };
    const process = new TestProcess(application, `dist-sample/${this.name}/${application}.js`, [], settings);
    this.#processes.push(process);
    return process;
  }

  async close(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.kill()));
    await this.stored.remove();
  }
}

/** Builds a sample for the tests of a file, and ends what they leave of it. */
export function useSample(name: string): Sample {
  const sample = new Sample(name);
  beforeAll(() => buildSample(name));
  afterAll(() => sample.close());
  return sample;
}

/** Waits until an application serves; resolves with the address of its API, if it has one. */
export async function isReady(application: TestProcess): Promise<string> {
  const line = await application.printed(' is ready');
  return line.split(' at ')[1] ?? '';
}

/** Tells applications to end, as whatever runs them would, and sees that they do so in order and in time. */
export async function expectToEndInOrder(...applications: TestProcess[]): Promise<void> {
  const toldAt = performance.now();
  for (const application of applications) application.signal('SIGTERM');
  await Promise.all(applications.map((application) => application.exit()));
  expect(performance.now() - toldAt).toBeLessThan(5000);
  // Nest raises the signal again once the application is closed.
  expect(applications.map(({ ending }) => ending)).toEqual(applications.map(() => 'SIGTERM'));
}
