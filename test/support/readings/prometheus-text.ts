/** A line of what Prometheus scrapes. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** All that a scrape tells of one metric. */
export interface MetricFamily {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: readonly Sample[];
}

const TYPES = ['counter', 'gauge', 'histogram', 'summary', 'untyped'];
const NAME = /^[A-Za-z_:][A-Za-z0-9_:]*$/;
const COMMENT = /^# (HELP|TYPE) (\S+) (.*)$/;
const SAMPLE = /^([A-Za-z_:][A-Za-z0-9_:]*)(?:\{(.*)\})? (\S+)(?: -?\d+)?$/;
const LABEL = /([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/y;
const NUMBER = /^[+-]?(?:Inf|\d+(?:\.\d*)?(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)$|^NaN$/i;

/**
 * What Prometheus makes of a scrape, in version 0.0.4 of its text format. It is stricter than Prometheus, which takes metrics
 * without a type: whatever is not as the format has it throws.
 */
export class Scrape {
  readonly families: ReadonlyMap<string, MetricFamily>;
  readonly samples: readonly Sample[];
  /** Type by name of the metric. */
  readonly types: ReadonlyMap<string, string>;

  constructor(text: string) {
    if (!text.endsWith('\n')) throw new Error('The last line of a scrape has to end.');
    this.families = toFamilies(text.split('\n').filter((line) => line !== ''));
    const families = [...this.families.values()];
    this.samples = families.flatMap(({ samples }) => samples);
    this.types = new Map(families.map(({ name, type }) => [name, type]));
    for (const family of families) assertSound(family);
  }

  /** The values of a metric that have these labels, among others. */
  values(name: string, labels: Readonly<Record<string, string>> = {}): number[] {
    return this.samples
      .filter(
        (sample) =>
          sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
      )
      .map(({ value }) => value);
  }

  /** The one value of a metric that has these labels; `undefined` where there is none. */
  value(name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
    const values = this.values(name, labels);
    if (values.length > 1) throw new Error(`${name} has ${values.length} values with ${JSON.stringify(labels)}.`);
    return values[0];
  }
}

/** The lines of a metric have to stand together, its help and type before its samples. */
function toFamilies(lines: readonly string[]): Map<string, MetricFamily> {
  const families = new Map<string, { name: string; type: string; help: string; samples: Sample[] }>();
  let name = '';
  for (const line of lines) {
    const [, keyword, named = '', rest = ''] = COMMENT.exec(line) ?? [];
    const family = families.get(named === '' ? name : named);
    if (keyword === 'HELP') {
      if (family || !NAME.test(named) || rest === '') throw new Error(`Not the help of a new metric: ${line}`);
      families.set((name = named), { name, type: '', help: rest, samples: [] });
    } else if (keyword === 'TYPE') {
      if (named !== name || !family || family.type !== '' || !TYPES.includes(rest) || family.samples.length > 0)
        throw new Error(`Not the type of the metric whose help came before: ${line}`);
      family.type = rest;
    } else {
      const sample = toSample(line);
      if (!family || !namesOf(family).includes(sample.name)) throw new Error(`Not among its metric's lines: ${line}`);
      family.samples.push(sample);
    }
  }
  return families;
}

/** What the samples of a metric may be called. */
function namesOf({ name, type }: Pick<MetricFamily, 'name' | 'type'>): string[] {
  if (type === 'histogram') return [`${name}_bucket`, `${name}_sum`, `${name}_count`];
  return type === 'summary' ? [name, `${name}_sum`, `${name}_count`] : type === '' ? [] : [name];
}

function toSample(line: string): Sample {
  const [, name, list = '', value = ''] = SAMPLE.exec(line) ?? [];
  if (name === undefined || !NUMBER.test(value)) throw new Error(`No line of a scrape: ${line}`);
  return { name, labels: toLabels(list, line), value: Number(value.replace(/inf$/i, 'Infinity')) };
}

function toLabels(list: string, line: string): Record<string, string> {
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  for (let end = 0; end < list.length; end = LABEL.lastIndex) {
    const [, name = '', text = ''] = LABEL.exec(list) ?? [];
    if (name === '' || name in labels) throw new Error(`No labels of a scrape: ${line}`);
    labels[name] = text.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));
  }
  return labels;
}

function assertSound(family: MetricFamily): void {
  const { name, type, samples } = family;
  if (type === '') throw new Error(`${name} has no type.`);
  const series = samples.map((sample) => `${sample.name} ${shown(sample.labels)}`);
  const twice = series.find((one, i) => series.indexOf(one) !== i);
  if (twice !== undefined) throw new Error(`There are two values of ${twice}.`);
  if (type === 'counter' && samples.some(({ value }) => !(value >= 0))) throw new Error(`${name} counts less than 0.`);
  if (type === 'histogram') assertHistograms(family);
}

/** The buckets of each series are in order and cumulative, the last one is that of all, and sum and count are there. */
function assertHistograms({ name, samples }: MetricFamily): void {
  const groups = new Map<string, Sample[]>();
  for (const sample of samples) {
    const { le: _, ...labels } = sample.labels;
    groups.set(shown(labels), [...(groups.get(shown(labels)) ?? []), sample]);
  }
  for (const [labels, group] of groups) {
    const buckets = group.filter((sample) => sample.name === `${name}_bucket`);
    const bounds = buckets.map(({ labels: { le = '' } }) => (le === '+Inf' ? Infinity : Number(le)));
    const counts = buckets.map(({ value }) => value);
    const isCumulative = [bounds, counts].every((list) => list.every((n, i) => i === 0 || n >= (list[i - 1] ?? n)));
    const only = (part: string): number | undefined => group.find((sample) => sample.name === `${name}_${part}`)?.value;
    if (!isCumulative || bounds.at(-1) !== Infinity || only('count') !== counts.at(-1) || only('sum') === undefined)
      throw new Error(`${name} ${labels} is no histogram.`);
  }
}

function shown(labels: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
