import { describe, expect, it } from 'vitest';
import { checkServer } from '../../../../lib/engines/redis/doctor/server-checks.js';
import { bootWarnings, found, mastersOf, serverOf, silent } from '../../../support/units/inspected-server.js';

describe('several masters', () => {
  it('that are fine share one finding', async () => {
    const findings = await found(mastersOf({}, {}, {}, {}, {}), 'eviction');
    expect(findings).toHaveLength(1);
    expect(findings[0]?.message).toMatch(/host:7000.*host:7002.*The other 2 are fine too\./);
  });

  it('that are not fine have one each', async () => {
    const full = { info: { used_memory: '10485760' } };
    const findings = await found(mastersOf({}, full, full), 'memory');
    expect(findings.map(({ level, message }) => [level, /host:\d+/.exec(message)?.[0]])).toEqual([
      ['error', 'host:7001'],
      ['error', 'host:7002'],
    ]);
  });

  it('of which one does not answer: it is told of once, and the others are looked at', async () => {
    const gone = { node: { roundTrip: silent, info: silent } };
    const findings = await checkServer(serverOf(mastersOf({}, gone)));
    const amiss = findings.filter(({ level }) => level !== 'ok');
    expect(amiss).toMatchObject([{ check: 'connection', level: 'error' }]);
    expect(amiss[0]?.message).toContain('host:7001 does not answer');
    expect(findings.find(({ check }) => check === 'eviction')?.message).toContain('host:7000');
  });

  it('of which none answers have nothing but that', async () => {
    const findings = await checkServer(serverOf(mastersOf({ node: { roundTrip: silent } })));
    expect(findings).toMatchObject([{ check: 'connection', level: 'error' }]);
  });

  it('whose clocks differ', async () => {
    const ahead = { node: { clockOffset: async () => 253 } };
    const findings = await found(mastersOf({}, ahead), 'clock');
    expect(findings.map(({ level }) => level)).toEqual(['ok', 'warning']);
    expect(findings[1]?.message).toContain('differ by up to 250 ms');
  });

  it('have one warning at boot for what is alike', async () => {
    const evicts = { info: { maxmemory_policy: 'allkeys-lru' } };
    const [warning, ...others] = await bootWarnings(serverOf(mastersOf(evicts, evicts, evicts)));
    expect(warning).toMatch(/host:7000.*Set maxmemory-policy to noeviction\..*2 other servers\.$/);
    expect(others).toEqual([]);
  });
});
