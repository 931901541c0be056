/** What a metric is called and may be asked for. */
export interface KnownMetric {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
}

/** Labels that Prometheus gives to what it scrapes. */
const TARGET_LABELS = ['instance', 'job'];

const SUFFIXES: Readonly<Record<string, readonly string[]>> = { histogram: ['_bucket', '_sum', '_count'] };

/**
 * What is wrong with an expression: metrics that do not exist, and labels that none of its metrics has.
 *
 * @param legend text with `{{label}}`, as dashboards and annotations have it
 */
export function faultsIn(expression: string, metrics: readonly KnownMetric[], legend = ''): string[] {
  const series = new Map(
    metrics.flatMap((metric) =>
      (SUFFIXES[metric.type] ?? ['']).map((suffix) => [metric.name + suffix, metric] as const),
    ),
  );
  const code = expression.replaceAll(/"[^"]*"/g, '""');
  const used = new Set(code.match(/\bdelay_queue_\w+/g));
  if (used.size === 0) return [`'${expression}' names no metric`];
  const unknown = [...used].filter((name) => !series.has(name)).map((name) => `there is no metric '${name}'`);
  const labels = new Set(TARGET_LABELS);
  for (const name of used) for (const label of series.get(name)?.labels ?? []) labels.add(label);
  if ([...used].some((name) => name.endsWith('_bucket'))) labels.add('le');
  const asked = [
    ...Array.from(
      code.matchAll(/\{([^}]*)\}/g),
      ([, matchers = '']) => matchers.match(/\w+(?=\s*[=!]~?)/g) ?? [],
    ).flat(),
    ...Array.from(
      code.matchAll(/\b(?:by|without|on|ignoring) \(([^)]*)\)/g),
      ([, list = '']) => list.match(/\w+/g) ?? [],
    ).flat(),
    ...Array.from(legend.matchAll(/\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}/g), ([, label = '']) => label),
  ];
  return [...unknown, ...asked.filter((label) => !labels.has(label)).map((label) => `no metric has label '${label}'`)];
}

/** Values that an expression asks a label for. */
export function valuesOf(expression: string, label: string): string[] {
  return Array.from(expression.matchAll(new RegExp(`\\b${label}="([^"]*)"`, 'g')), ([, value = '']) => value);
}
