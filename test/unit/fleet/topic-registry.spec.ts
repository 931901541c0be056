import { describe, expect, it } from 'vitest';
import { PROTOCOL_BEFORE, PROTOCOL_VERSION, type TopicConfig } from '../../../lib/store/fleet/topic-config.js';
import { BrokerUnavailableError } from '../../../lib/errors/operation.errors.js';
import { ConfigurationError } from '../../../lib/errors/options.errors.js';
import { FleetBed } from '../../support/units/fleet-bed.js';
import { testRegistry } from '../../support/units/handling.js';
import { Gate, until } from '../../support/waiting.js';
import { resolveOptions } from '../../../lib/composition/resolve-options.js';

/** A registry, and topics that Redis knows already. */
async function setUp(known: Record<string, number> = {}, partitions?: number) {
  const bed = new FleetBed();
  for (const [topic, number] of Object.entries(known)) await bed.broker.fleet.configure(topic, number);
  const me = bed.process('me');
  const changes: ConfigurationError[] = [];
  const settingsOf = resolveOptions(partitions === undefined ? {} : { defaults: { partitions } }).topicSettings;
  const registry = testRegistry(me.context, { settingsOf, onChanged: (error) => changes.push(error) });
  return { bed, me, registry, changes };
}

const GONE = new BrokerUnavailableError('gone');

describe('load', () => {
  it('learns what Redis knows with one call for all', async () => {
    const known = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`t${i}`, i + 1]));
    const { me, registry } = await setUp(known);

    expect(await registry.load(Object.keys(known))).toEqual([]);
    expect(Object.fromEntries(registry.known)).toEqual(known);
    expect(me.operations).toEqual(['configsOf']);
  });

  it('fixes the numbers of the others', async () => {
    const { bed, me, registry } = await setUp({ old: 3 });

    expect(await registry.load(['new', 'old'])).toEqual([]);
    expect([...registry.known]).toEqual([
      ['old', 3],
      ['new', 8],
    ]);
    expect(me.operations).toEqual(['configsOf', 'configure']);
    expect(await bed.broker.fleet.configOf('new')).toMatchObject({ partitions: 8 });
  });

  it.each([
    { what: 'rejects', fail: async () => Promise.reject(GONE) },
    { what: 'does not answer', fail: async () => new Promise<never>(() => {}) },
  ])('asks for each topic by itself if the call for all $what', async ({ fail }) => {
    const { bed, me, registry } = await setUp({ old: 3 });
    me.around = async ({ operation, run }) => (operation === 'configsOf' ? fail() : run());
    const loading = registry.load(['old', 'new']);
    await bed.clock.advance(3000);

    expect(await loading).toEqual([]);
    expect(Object.fromEntries(registry.known)).toEqual({ old: 3, new: 8 });
  });

  it('answers which topics cannot be reached, and knows the others', async () => {
    const { bed, me, registry } = await setUp({ old: 3 });
    me.around = async (call) => {
      if (call.operation !== 'configure') return call.run();
      const [topic] = call.args;
      if (topic === 'away') throw GONE;
      return topic === 'silent' ? new Promise<never>(() => {}) : call.run();
    };
    const loading = registry.load(['away', 'silent', 'new', 'old']);
    await bed.clock.advance(3000);

    expect(await loading).toEqual([
      { topic: 'away', error: GONE },
      { topic: 'silent', error: new BrokerUnavailableError("Topic 'silent' does not answer") },
    ]);
    expect(Object.fromEntries(registry.known)).toEqual({ old: 3, new: 8 });
  });

  it('throws if Redis refuses for good', async () => {
    const { me, registry } = await setUp();
    const denied = new BrokerUnavailableError('denied', { transient: false });
    me.around = async ({ operation, run }) => (operation === 'configure' ? Promise.reject(denied) : run());

    await expect(registry.load(['jobs'])).rejects.toBe(denied);
  });

  it('throws if a topic has another number of partitions than is configured', async () => {
    const { registry } = await setUp({ jobs: 3 }, 5);

    await expect(registry.load(['jobs'])).rejects.toThrow(ConfigurationError);
    await expect(registry.load(['jobs'])).rejects.toThrow(
      "Topic 'jobs' has 3 partitions, but this process is configured with 5.",
    );
  });

  it('throws if a topic is of another protocol', async () => {
    const { me, registry } = await setUp();
    const config: TopicConfig = { partitions: 8, protocol: 99 };
    me.around = async ({ operation, run }) => (operation === 'configsOf' ? [config] : run());

    await expect(registry.load(['jobs'])).rejects.toThrow(ConfigurationError);
    expect(registry.knownPartitions('jobs')).toBeUndefined();
  });
});

describe('restore', () => {
  it('writes the number again that this process works with', async () => {
    const { bed, me, registry, changes } = await setUp({ jobs: 3 });
    await registry.load(['jobs']);
    me.calls.length = 0;
    await registry.restore('jobs');

    expect(me.calls.map(({ operation, args }) => [operation, ...args])).toEqual([
      ['configure', 'jobs', 3, undefined, { limits: undefined, handling: undefined }, undefined],
    ]);
    expect(changes).toEqual([]);
    expect(await bed.broker.fleet.configOf('jobs')).toMatchObject({ partitions: 3 });
  });

  it('writes it once more for all that ask while it does, since Redis may have lost it in between', async () => {
    const { me, registry } = await setUp({ jobs: 3 });
    await registry.load(['jobs']);
    me.calls.length = 0;
    const answered = new Gate();
    me.around = async ({ run }) => {
      const config = await run();
      await answered.opened;
      return config;
    };
    const restored: number[] = [];
    const all = [1, 2, 3].map(async (n) => registry.restore('jobs').then(() => restored.push(n)));
    await until('the first call', () => me.count('configure') === 1);
    answered.open();
    await Promise.all(all);

    expect(restored).toEqual([1, 2, 3]);
    expect(me.count('configure')).toBe(2);
  });

  it('does nothing for a topic that this process has not used', async () => {
    const { me, registry } = await setUp();
    await registry.restore('jobs');

    expect(me.calls).toEqual([]);
  });

  it('tells if another number is stored by now, and goes on with its own', async () => {
    const { me, registry, changes } = await setUp({ jobs: 3 });
    await registry.load(['jobs']);
    me.around = async ({ operation, run }) => (operation === 'configure' ? { partitions: 8, protocol: 2 } : run());
    await registry.restore('jobs');

    expect(changes.map(({ message }) => message)).toEqual([
      expect.stringContaining("Topic 'jobs' has 8 partitions in Redis, and this process works with 3"),
    ]);
    expect(registry.knownPartitions('jobs')).toBe(3);
  });

  it('tells if another order is stored by now, and goes on with its own', async () => {
    const { me, registry, changes } = await setUp({ jobs: 3 });
    await registry.load(['jobs']);
    const stored: TopicConfig = { partitions: 3, protocol: 2, order: 'block' };
    me.around = async ({ operation, run }) => (operation === 'configure' ? stored : run());
    await registry.restore('jobs');

    expect(changes.map(({ message }) => message)).toEqual([
      expect.stringContaining(
        "Topic 'jobs' is ordered (onDead: 'block') in Redis, and this process works with one that has no order",
      ),
    ]);
    expect(registry.knownOrder('jobs')).toBeUndefined();
  });

  it('rejects if Redis cannot be reached, and can be called again', async () => {
    const { me, registry } = await setUp({ jobs: 3 });
    await registry.load(['jobs']);
    const { around } = me;
    me.around = async () => Promise.reject(GONE);
    await expect(registry.restore('jobs')).rejects.toBe(GONE);
    me.around = around;
    await registry.restore('jobs');

    expect(me.count('configure')).toBe(2);
  });
});

describe('the protocol of a topic', () => {
  const OLD = { session: 'old', count: 1, length: 10_000, digest: 'd' };

  /** A registry, and topics that were created while a process of the version before lived. */
  async function setUpBefore(topics: readonly string[]) {
    const { bed, registry } = await setUp();
    const { fleet } = bed.broker;
    await fleet.heartbeat(OLD);
    await registry.load(topics);
    await fleet.leave({ ...OLD, count: 2 });
    return { fleet, registry };
  }

  it('is that of the version before as long as a process of it is stored', async () => {
    const { fleet, registry } = await setUpBefore(['jobs']);

    expect(await fleet.configOf('jobs')).toMatchObject({ protocol: PROTOCOL_BEFORE });
    expect(registry.knownProtocol('jobs')).toBe(PROTOCOL_BEFORE);
    await registry.load(['mails']);
    expect(await fleet.configOf('mails')).toMatchObject({ protocol: PROTOCOL_VERSION });
  });

  it('is that of the version before as long as a process of it lives, though Redis has lost that', async () => {
    const { bed, registry } = await setUp();
    registry.fleetIs('apart');
    await registry.load(['jobs']);

    expect(await bed.broker.fleet.configOf('jobs')).toMatchObject({ protocol: PROTOCOL_BEFORE });
  });

  it('is raised once the fleet has settled, and records are shared after one more look at the fleet', async () => {
    const { fleet, registry } = await setUpBefore(['jobs', 'mails']);
    expect(registry.fleetIs('alike')).toEqual([]);
    await registry.restore('mails');
    expect(await fleet.configsOf(['jobs', 'mails'])).toMatchObject([{ protocol: 2 }, { protocol: 2 }]);

    expect(registry.fleetIs('settled')).toEqual(['jobs', 'mails']);
    await registry.restore('jobs');
    expect(await fleet.configsOf(['jobs', 'mails'])).toMatchObject([{ protocol: 3 }, { protocol: 2 }]);
    expect(registry.mayShareRecords('jobs')).toBe(false);

    expect(registry.fleetIs('settled')).toEqual(['mails']);
    expect(['jobs', 'mails', 'chores'].map((topic) => registry.mayShareRecords(topic))).toEqual([true, false, false]);
  });

  it.each(['unknown', 'apart'] as const)('stays, and no records are shared, if the fleet is %s', async (agreement) => {
    const { bed, registry } = await setUp();
    await registry.load(['jobs']);
    expect(registry.mayShareRecords('jobs')).toBe(false);
    registry.fleetIs('alike');
    expect(registry.mayShareRecords('jobs')).toBe(true);
    expect(registry.fleetIs(agreement)).toEqual([]);
    await registry.restore('jobs');

    expect(await bed.broker.fleet.configOf('jobs')).toMatchObject({ protocol: PROTOCOL_VERSION });
    expect(registry.mayShareRecords('jobs')).toBe(false);
  });

  it('ends the sharing of records if Redis has lost it, and a process of the version before has written it', async () => {
    const { me, registry } = await setUp();
    await registry.load(['jobs']);
    registry.fleetIs('alike');
    me.around = async ({ operation, run }) => (operation === 'configure' ? { partitions: 8, protocol: 2 } : run());
    await registry.restore('jobs');

    expect(registry.mayShareRecords('jobs')).toBe(false);
  });

  it.each([['jobs'], ['jobs', 'mails']])(
    'is learned with the terms if another process has raised it: %s',
    async (...topics) => {
      const { fleet, registry } = await setUpBefore(topics);
      await fleet.configure('jobs', 8, undefined, {}, PROTOCOL_VERSION);
      await registry.relearnTerms(topics);

      expect(registry.fleetIs('settled')).toEqual(topics.slice(1));
      expect(registry.mayShareRecords('jobs')).toBe(true);
    },
  );
});

describe('relearnTerms', () => {
  const limits = { inFlight: { topic: 3 } };

  /** A registry that knows limits of a topic of which the second copy has none. */
  async function setUpForgetful() {
    const { bed, registry } = await setUp();
    await registry.partitions('jobs');
    registry.takeTerms('jobs', { limits, handling: undefined });
    return { bed, registry };
  }

  it('says again what it knows if nobody has said anything', async () => {
    const { bed, registry } = await setUpForgetful();

    expect(await registry.relearnTerms(['jobs'])).toEqual([]);
    expect(registry.terms('jobs').limits).toEqual(limits);
    expect(await bed.broker.fleet.configOf('jobs')).toMatchObject({ limits });
  });

  it('learns that there are none if that was said', async () => {
    const { bed, registry } = await setUpForgetful();
    await bed.broker.fleet.setTerms('jobs', {});

    expect(await registry.relearnTerms(['jobs'])).toEqual([{ topic: 'jobs', limits: undefined, text: 'none' }]);
    expect(registry.terms('jobs').limits).toBeUndefined();
  });
});
