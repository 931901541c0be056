import { describe, expect, it } from 'vitest';
import type { DoctorReport } from '../../../lib/admin/doctor.js';
import type { Broker } from '../../../lib/store/broker.interface.js';
import { PROTOCOL_BEFORE } from '../../../lib/store/fleet/topic-config.js';
import { EmbeddedBroker } from '../../../lib/engines/embedded/embedded.broker.js';
import { BrokerUnavailableError } from '../../../lib/errors/operation.errors.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { testAdmin } from '../../support/units/admin.js';

const AWAY = new BrokerUnavailableError('Redis at host:6379 failed: connect ECONNREFUSED', { transient: false });

async function examined(change: (broker: Broker) => void = () => {}): Promise<DoctorReport['findings']> {
  const clock = new ManualClock();
  const broker = new EmbeddedBroker(clock);
  await broker.fleet.configure('orders', 8);
  await broker.fleet.configure('audit', 8);
  change(broker);
  return (await testAdmin(broker, clock, { timeout: 5000 }).doctor()).findings;
}

describe('doctor', () => {
  it('finds nothing amiss in memory, and says that there is no Redis', async () => {
    const findings = await examined();
    expect(findings).toMatchObject([
      { check: 'connection', level: 'ok', message: expect.stringContaining('no Redis') as string, advice: '' },
      { check: 'topics', level: 'ok', message: expect.stringContaining('Of 2 topics') as string, advice: '' },
    ]);
  });

  it('names topics of another protocol', async () => {
    const findings = await examined((broker) => {
      broker.fleet.configsOf = async (topics) =>
        topics.map((topic) => ({ partitions: 8, protocol: topic === 'orders' ? 99 : PROTOCOL_BEFORE }));
    });
    expect(findings[1]).toMatchObject({ check: 'topics', level: 'error' });
    expect(findings[1]?.message).toMatch(/Of 2 topics under this prefix, 1 .*: 'orders' \(protocol 99\)\./);
  });

  it('still has the other findings if topics cannot be looked at', async () => {
    const findings = await examined((broker) => {
      broker.fleet.topics = () => Promise.reject(AWAY);
    });
    expect(findings).toMatchObject([
      { check: 'connection', level: 'ok' },
      { check: 'topics', level: 'warning', message: expect.stringMatching(/unknown: .*ECONNREFUSED/) as string },
    ]);
  });

  it('finds only that if nothing answers', async () => {
    const findings = await examined((broker) => {
      broker.link.ping = () => Promise.reject(AWAY);
    });
    expect(findings).toMatchObject([{ check: 'connection', level: 'error', message: AWAY.message }]);
  });
});
