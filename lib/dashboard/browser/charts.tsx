import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { lateness } from './format.js';
import { language } from './texts/language.js';
import { colour, isDark } from './theme.js';

const HEIGHT = 200;

/** Most values that are drawn as points. */
const FEW = 20;

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000];

/** Distances between the marks of an axis of durations, in milliseconds: all of them are short in words. */
const STEPS_OF_TIME = [
  0.1,
  0.2,
  0.5,
  ...[1, 10, 100].flatMap((unit) => [1, 2, 5].map((count) => count * unit)),
  ...[SECOND, MINUTE].flatMap((unit) => [1, 2, 5, 10, 15, 30].map((count) => count * unit)),
  ...[1, 2, 4, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].map((count) => count * DAY),
];

interface Line {
  readonly name: string;
  /** A colour of the style sheet. */
  readonly colour: string;
  readonly values: readonly (number | null)[];
}

interface ChartProps {
  /** Description for users who cannot see it. */
  readonly label: string;
  /** Epoch milliseconds. */
  readonly times: readonly number[];
  readonly lines: readonly Line[];
  readonly bars?: boolean;
  /** Whether the values are lengths of time, in milliseconds. */
  readonly areTimes?: boolean;
  /** Called with the range that the user selected, in epoch milliseconds. */
  readonly zoom?: (from: number, to: number) => void;
}

/** Values over time. */
export function Chart({ label, times, lines, bars = false, areTimes = false, zoom }: ChartProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot>(null);
  const dark = isDark.value;
  const zoomRef = useRef(zoom);
  zoomRef.current = zoom;
  const data: uPlot.AlignedData = [times.map((time) => time / 1000), ...lines.map(({ values }) => [...values])];

  useEffect(() => {
    const target = place.current;
    if (!target) return undefined;
    const drawn = new uPlot(
      optionsOf({ label, times, lines, bars, areTimes }, target.clientWidth, zoomRef),
      data,
      target,
    );
    chart.current = drawn;
    const resize = new ResizeObserver(() => drawn.setSize({ width: target.clientWidth, height: HEIGHT }));
    resize.observe(target);
    return () => {
      resize.disconnect();
      drawn.destroy();
      chart.current = null;
    };
    // A change of its look makes a new drawing; its data are set below.
  }, [dark, bars, language.value, lines.map(({ name }) => name).join()]);

  useEffect(() => chart.current?.setData(data));

  return <div class="chart" ref={place} role="img" aria-label={label} />;
}

function optionsOf(
  { lines, times, bars = false, areTimes = false }: ChartProps,
  width: number,
  zoom: { readonly current: ChartProps['zoom'] | undefined },
): uPlot.Options {
  const inWords = areTimes ? lateness : shortNumber;
  const axis = {
    stroke: colour('muted'),
    font: `12px ${colour('font')}`,
    grid: { stroke: colour('line'), width: 1 },
    ticks: { show: false },
  };
  return {
    width,
    height: HEIGHT,
    legend: { markers: { width: 0, fill: (_plot, line) => colour(lines[line - 1]?.colour ?? 'muted') } },
    cursor: { drag: { x: zoom.current !== undefined, y: false, setScale: false }, points: { size: 6 } },
    scales: { x: { time: true }, y: { range: (_plot, _low, high) => [0, Math.max(1, high * 1.1)] } },
    axes: [
      {
        ...axis,
        size: 30,
        space: 70,
        values: (_plot, splits, _index, _space, increment) => splits.map((at) => tickOf(at, increment)),
      },
      {
        ...axis,
        size: areTimes ? 60 : 48,
        ...(areTimes && { incrs: STEPS_OF_TIME }),
        values: (_plot, splits) => splits.map((value) => inWords(value)),
      },
    ],
    series: [
      { value: (_plot, at) => (at === null ? '' : tickOf(at, 1)) },
      ...lines.map(({ name, colour: lineColour }) => ({
        label: name,
        stroke: colour(lineColour),
        width: bars ? 0 : 1.5,
        fill: bars ? colour(lineColour) : `${colour(lineColour)}18`,
        // A line of few values would not be visible.
        points: { show: !bars && times.length <= FEW, size: 5 },
        // The latest value, unless the pointer is over the chart.
        value: (plot: uPlot, value: number | null, line: number) => {
          const values = plot.data[line] as readonly (number | null | undefined)[] | undefined;
          const said = value ?? (bars ? null : values?.findLast((one) => typeof one === 'number'));
          return typeof said === 'number' ? inWords(said) : '';
        },
        ...(bars && uPlot.paths.bars && { paths: uPlot.paths.bars({ size: [0.8, 60], align: 1, radius: 0.15 }) }),
      })),
    ],
    hooks: {
      setSelect: [
        (plot) => {
          const { left, width: selected } = plot.select;
          if (selected < 4) return;
          zoom.current?.(plot.posToVal(left, 'x') * 1000, plot.posToVal(left + selected, 'x') * 1000);
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        },
      ],
    },
  };
}

/** @param increment seconds between two ticks */
function tickOf(at: number, increment: number): string {
  const parts: Intl.DateTimeFormatOptions =
    increment >= 86_400
      ? { month: 'short', day: 'numeric' }
      : increment >= 3600
        ? { weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }
        : increment >= 60
          ? { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }
          : { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' };
  return new Intl.DateTimeFormat(language.value, parts).format(at * 1000);
}

function shortNumber(value: number): string {
  return new Intl.NumberFormat(language.value, { notation: 'compact', maximumFractionDigits: 1 }).format(value);
}

const SPARK_WIDTH = 80;
const SPARK_HEIGHT = 22;

interface SparkProps<T> {
  readonly values: readonly T[];
  /** Description for users who cannot see it. */
  readonly label: string;
}

/** A line without axes, beside the figure that it leads to; unknown values are gaps. */
export function Sparkline({ values, label }: SparkProps<number | undefined>): JSX.Element {
  const most = Math.max(...values.map((value) => value ?? 0), 0);
  const step = SPARK_WIDTH / Math.max(1, values.length - 1);
  const lines: string[][] = [[]];
  values.forEach((value, i) => {
    if (value === undefined) lines.push([]);
    else lines.at(-1)?.push(`${(i * step).toFixed(1)},${(SPARK_HEIGHT - heightOf(value, most)).toFixed(1)}`);
  });
  return (
    <Spark label={label}>
      {most === 0 && <rect class="spark-none" x={0} y={SPARK_HEIGHT - 1} width={SPARK_WIDTH} height={1} />}
      {lines.map((points, i) => (
        <polyline key={i} points={points.join(' ')} />
      ))}
      {lines.flatMap((points) => {
        const [x, y] = points.length === 1 ? (points[0] ?? '').split(',').map(Number) : [];
        return x === undefined || y === undefined ? [] : [<rect key={x} x={x - 2} y={y - 1} width={4} height={2} />];
      })}
    </Spark>
  );
}

/** A bar for each of a few counts. */
export function Sparkbars({ values, label }: SparkProps<number>): JSX.Element {
  const most = Math.max(...values, 0);
  const step = SPARK_WIDTH / Math.max(1, values.length);
  return (
    <Spark label={label}>
      {most === 0 && <rect class="spark-none" x={0} y={SPARK_HEIGHT - 1} width={SPARK_WIDTH} height={1} />}
      {most > 0 &&
        values.map((value, i) => {
          const height = heightOf(value, most);
          return (
            <rect
              key={i}
              class={value === 0 ? 'spark-none' : ''}
              x={i * step}
              y={SPARK_HEIGHT - height}
              width={step - 2}
              height={height}
              rx={1}
            />
          );
        })}
    </Spark>
  );
}

/** At least a pixel, so that there is a bottom to stand on. */
function heightOf(value: number, most: number): number {
  return most === 0 ? 1 : Math.max(1, (value / most) * (SPARK_HEIGHT - 1));
}

function Spark({ label, children }: { label: string; children: ComponentChildren }): JSX.Element {
  return (
    <svg class="spark" viewBox={`0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}`} role="img" aria-label={label}>
      {children}
    </svg>
  );
}
