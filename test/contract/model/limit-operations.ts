import * as fc from 'fast-check';
import type { Limits } from '../../../lib/store/deliveries/limits.js';
import { HOUR, type Operation, PARTITION, hours, session } from './world.js';

export const hold = fc.record({ delay: hours, ends: fc.boolean() }).map(({ delay, ends }): Operation => ({
  name: ends ? 'resume' : `hold for ${delay} h`,
  run: async (broker, memory) => {
    const call = { caller: 'holder', sequence: ++memory.sequence };
    if (ends) await broker.deliveries.resume(PARTITION, call);
    else await broker.deliveries.hold(PARTITION, call, delay * HOUR);
  },
}));

/** Limits of the topic that the permits are asked for. */
const SHARED: Limits = { inFlight: 4, rate: { max: 3, per: 2 * HOUR } };

export const permit = fc
  .record({
    by: session,
    wanted: fc.integer({ min: 0, max: 5 }),
    ended: fc.nat(4),
    returned: fc.nat(2),
    lease: fc.integer({ min: 1, max: 3 }),
    kinds: fc.constantFrom<(keyof Limits)[]>(['inFlight'], ['rate'], ['inFlight', 'rate']),
  })
  .map(({ by, wanted, ended, returned, lease, kinds }): Operation => {
    return {
      name: `${by} wants permits for ${wanted} for ${lease} h (${kinds.join()}), ${ended} have ended, ${returned} come back`,
      run: async (broker, memory) => {
        const own = memory.permits.get(by) ?? { held: 0, used: 0, sequence: 0, permittedAt: 0 };
        const used = Math.max(0, own.used - ended);
        const limits = Object.fromEntries(kinds.map((kind) => [kind, SHARED[kind]])) as Limits;
        const reply = await broker.deliveries.permit(PARTITION.topic, {
          session: by,
          sequence: own.sequence + 1,
          limits,
          held: own.held,
          idle: own.held - used,
          wanted,
          lease: lease * HOUR,
          patience: 10 * HOUR,
          returned: returned > 0 ? [{ permittedAt: own.permittedAt, count: returned }] : [],
        });
        const held = limits.inFlight === undefined ? 0 : own.held + Math.max(0, reply.permitted - (own.held - used));
        memory.permits.set(by, {
          held,
          used: Math.min(held, used + reply.permitted),
          sequence: own.sequence + 1,
          permittedAt: reply.permittedAt || own.permittedAt,
        });
        const { permitted, keep, sessions, wait } = reply;
        return { permitted, held: reply.held, keep, sessions, wait: wait && Math.round(wait / HOUR) };
      },
    };
  });
