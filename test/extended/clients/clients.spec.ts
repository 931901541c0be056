import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GatewayEnvironment, startGatewayEnvironment } from '../../support/gateway/environment.js';
import { numbersFor, outcomesIn } from './behaviours.js';
import { runCommand } from './run-suite.js';
import { SUITES, WITHOUT_A_GATEWAY } from './suites.js';

/** A suite takes some 15 s; with a compilation before it, or on a busy host, longer. */
const LONG = 180_000;

describe.each(['standalone', 'nest'] as const)('the gateway, %s', (kind) => {
  let environment: GatewayEnvironment;

  beforeAll(async () => {
    environment = await startGatewayEnvironment(kind);
  }, 60_000);
  afterAll(async () => environment.close());

  // Most of their time they wait, each on topics of its own.
  it.concurrent.each(SUITES)(
    'does for $name what the list of behaviours says',
    async (suite) => {
      const { code, output } = await runCommand(suite, environment.variables(suite.name));
      const expected = Object.fromEntries(numbersFor(suite).map((number) => [number, 'ok']));
      const outcomes = outcomesIn(output);
      // What it has written besides may be the only trace of what stopped it.
      const amiss = Object.entries(outcomes).filter(([, outcome]) => outcome !== 'ok');
      expect(outcomes, [...amiss.map((one) => one.join(' ')), output].join('\n')).toEqual(expected);
      expect(code).toBe(0);
    },
    LONG,
  );
});

describe('clients without a gateway', () => {
  it.concurrent.each(WITHOUT_A_GATEWAY)(
    'pass $command $args in $folder',
    async (command) => {
      const { code, output } = await runCommand(command);
      expect(code, output).toBe(0);
    },
    LONG,
  );
});

describe('the list of behaviours', () => {
  it('is read as a whole, so that no row is left out', () => {
    const all = Array.from({ length: 45 }, (_, i) => `B${String(i + 1).padStart(2, '0')}`);
    expect(numbersFor({ name: 'php', shows: 'clients' })).toEqual(all);
    expect(numbersFor({ name: 'go', shows: 'clients' })).toEqual(all.filter((number) => number !== 'B36'));
    expect(numbersFor({ name: 'curl', shows: 'all' })).toEqual([...all.slice(0, 24), 'B29']);
  });

  it('is not fulfilled by a line that is printed twice, or says why not', () => {
    expect(outcomesIn('ok B01\nnot ok B02 - it is late\nok B03\nok B03\nnoise ok B04\n')).toEqual({
      B01: 'ok',
      B02: 'not ok: it is late',
      B03: 'printed twice',
    });
  });
});
