import { type Metric, Registry } from 'prom-client';
import { prometheusMetrics } from 'nestjs-delay-queue/prometheus';
import { describe, expect, it } from 'vitest';
import { anchors, readDocument, section, table } from '../support/docs/markdown.js';
import { type KnownMetric, faultsIn, valuesOf } from '../support/docs/promql.js';

const FOLDER = 'docs/monitoring';
const document = readDocument(`${FOLDER}/README.md`);

/** What an application really has. */
function registered(): KnownMetric[] {
  const registry = new Registry();
  prometheusMetrics({ registry }).open('default', async () => ({ up: true, clockOffset: 0, topics: [] }));
  return (registry.getMetricsAsArray() as unknown as (Metric & Registered)[]).map(({ name, type, labelNames }) => ({
    name,
    type,
    labels: labelNames,
  }));
}

interface Registered {
  readonly name: string;
  readonly type: string;
  readonly labelNames: readonly string[];
}

interface Alert {
  readonly name: string;
  readonly expression: string;
  readonly summary: string;
  readonly runbook: string;
}

/** Reads the rules in the form that the file has; `promtool check rules` reads any. */
function readAlerts(): Alert[] {
  const [, ...rules] = readDocument(`${FOLDER}/alerts.yml`).split('- alert: ');
  return rules.map((rule) => ({
    name: /^\w+/.exec(rule)?.[0] ?? '',
    expression: (/ expr: (?:\|\n((?: {10}.*\n)+)|(.+)\n)/.exec(rule) ?? []).slice(1).join('').trim(),
    summary: / summary: '(.+)'/.exec(rule)?.[1] ?? '',
    runbook: / runbook: (\S+)/.exec(rule)?.[1] ?? '',
  }));
}

interface Target {
  readonly expr: string;
  readonly legendFormat: string;
}

const metrics = registered();
const alerts = readAlerts();
const dashboard = JSON.parse(readDocument(`${FOLDER}/dashboard.json`)) as {
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
  readonly panels: readonly { readonly title: string; readonly targets: readonly Target[] }[];
};
const targets = dashboard.panels.flatMap(({ title, targets: own }) => own.map((target) => ({ title, ...target })));

describe('docs/monitoring/alerts.yml', () => {
  it('has alerts, each with an expression, a summary and a runbook', () => {
    expect(alerts.length).toBeGreaterThan(5);
    for (const alert of alerts) expect(Object.values(alert)).not.toContain('');
  });

  it.each(alerts)('asks for metrics and labels that exist: $name', ({ expression, summary }) => {
    expect(faultsIn(expression, metrics, summary.replaceAll(/\{\{ \$value[^}]*\}\}/g, ''))).toEqual([]);
  });

  it.each(alerts)('leads to its runbook: $name', ({ name, runbook }) => {
    const [path = '', anchor = ''] = runbook.split('#');
    expect(anchor).toBe(name.toLowerCase());
    const runbooks = readDocument(path);
    expect(anchors(runbooks)).toContain(anchor);
    expect(section(runbooks, name).match(/^\*\*(Means|Look|Do)/gm)).toEqual(['**Means', '**Look', '**Do']);
  });

  it('has an alert for each runbook', () => {
    const headings = readDocument('docs/guides/operations.md').match(/^## DelayQueue\w+$/gm) ?? [];
    expect(headings.map((heading) => heading.slice(3))).toEqual(alerts.map(({ name }) => name));
  });

  it('has a test for each alert', () => {
    const tested = readDocument(`${FOLDER}/alerts.test.yml`).match(/(?<=alertname: )\w+/g);
    expect(new Set(tested)).toEqual(new Set(alerts.map(({ name }) => name)));
  });
});

describe('docs/monitoring/dashboard.json', () => {
  it.each(targets)('asks for metrics and labels that exist: $title, $legendFormat', ({ expr, legendFormat }) => {
    expect(faultsIn(expr, metrics, legendFormat)).toEqual([]);
  });

  it('finds topics by a metric and a label that exist', () => {
    const [variable] = dashboard.templating.list.filter(({ name }) => name === 'topic');
    const [, name, label] = /^label_values\((\w+), (\w+)\)$/.exec(variable?.definition ?? '') ?? [];
    expect(metrics.find((metric) => metric.name === name)?.labels).toContain(label);
  });

  it('shows every metric', () => {
    const expressions = targets.map(({ expr }) => expr).join('\n');
    expect(metrics.filter(({ name }) => !expressions.includes(name))).toEqual([]);
  });
});

describe('outcomes that are asked for', () => {
  it('are among those of the metric', () => {
    const asked = [...alerts.map(({ expression }) => expression), ...targets.map(({ expr }) => expr)].flatMap((expr) =>
      valuesOf(expr, 'outcome').map((value) => ({ value, metric: /(\w+)\{[^}]*outcome=/.exec(expr)?.[1] ?? '' })),
    );
    expect(asked.length).toBeGreaterThan(0);
    for (const { value, metric } of asked) {
      expect([...table(document, `\`outcome\` of \`${metric}\``).keys()]).toContain(`'${value}'`);
    }
  });
});

describe('the check of expressions', () => {
  it.each([
    ['sum(rate(delay_queue_acked_total[5m]))', '', "there is no metric 'delay_queue_acked_total'"],
    ['rate(delay_queue_lateness_seconds[5m])', '', "there is no metric 'delay_queue_lateness_seconds'"],
    ['sum by (queue) (delay_queue_dead)', '', "no metric has label 'queue'"],
    ['delay_queue_up{topic="jobs"}', '', "no metric has label 'topic'"],
    ['delay_queue_dead', '{{partition}}', "no metric has label 'partition'"],
    ['sum by (le) (delay_queue_lateness_seconds_sum)', '', "no metric has label 'le'"],
    ['up == 0', '', "'up == 0' names no metric"],
  ])('finds what is wrong with %s %s', (expression, legend, fault) => {
    expect(faultsIn(expression, metrics, legend)).toEqual([fault]);
  });
});
