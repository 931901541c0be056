import { MINUTE } from '../store/records/process-records.js';
import { type AdminDependencies, served } from './admin-dependencies.js';
import { type WorkMinute, tellOwn, toMinute } from './fleet.js';

/** @throws BrokerUnavailableError */
export async function historyOf(dependencies: AdminDependencies, topic: string): Promise<WorkMinute[]> {
  const { broker } = dependencies;
  await tellOwn(dependencies);
  const now = broker.now();
  const spans = await served(dependencies, () => broker.records.historyOf(topic, Math.floor(now / MINUTE)));
  return spans
    .toSorted((a, b) => a.minute - b.minute || a.span - b.span)
    .map(({ minute, span, ...work }) => {
      const at = minute * MINUTE;
      return toMinute({ at, seconds: Math.min(span * MINUTE, now - at) / 1000 }, [work]);
    });
}
