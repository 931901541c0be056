import { checkedTables, inBackticks } from './markdown.js';
import type { KnownMetric } from './promql.js';

/** The metrics that the tables of a document list. */
export function documentedMetrics(markdown: string): KnownMetric[] {
  const rows = checkedTables(markdown).flatMap((table) => (table.check === 'metrics' ? table.rows : []));
  return rows.map(({ names: [name = ''], cells }) => ({
    name,
    type: cells.get('type') ?? '',
    labels: inBackticks(cells.get('labels') ?? ''),
  }));
}
