/** A line of what Prometheus scrapes. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** What Prometheus makes of a scrape; a line that it would not understand throws. */
export class Scrape {
  readonly samples: readonly Sample[];
  /** Type by name of the metric. */
  readonly types: ReadonlyMap<string, string>;

  constructor(text: string) {
    const lines = text.split('\n').filter((line) => line !== '');
    this.types = new Map(
      lines.flatMap((line) => {
        const [, name, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
        return name && type ? [[name, type] as const] : [];
      }),
    );
    this.samples = lines.filter((line) => !line.startsWith('#')).map(toSample);
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

function toSample(line: string): Sample {
  const [, name, list = '', value] = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
  if (name === undefined) throw new Error(`No line of a scrape: ${line}`);
  const pairs = Array.from(list.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g), ([, key = '', text = '']) => [key, text]);
  return { name, labels: Object.fromEntries(pairs) as Record<string, string>, value: toNumber(value) };
}

function toNumber(text: string | undefined): number {
  const number = text === '+Inf' ? Infinity : Number(text);
  if (Number.isNaN(number)) throw new Error(`No value of a scrape: ${text}`);
  return number;
}
