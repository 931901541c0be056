import { inBackticks } from './markdown.js';
import type { KnownMetric } from './promql.js';

/** The metrics that the tables of docs/monitoring list. */
export function documentedMetrics(markdown: string): KnownMetric[] {
  const rows = markdown.split('\n').filter((line) => /^\| `delay_queue_\w+` +\| \w+ +\|/.test(line));
  return rows.map((row) => {
    const [, name = '', type = '', labels = ''] = row.split('|').map((cell) => cell.trim());
    return { name: inBackticks(name)[0] ?? '', type, labels: inBackticks(labels) };
  });
}
