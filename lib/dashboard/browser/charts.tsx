import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { language } from './texts/language.js';
import { colour, isDark } from './theme.js';

const HEIGHT = 200;

/** With at most so many values each is a point. */
const FEW = 20;

interface Line {
  readonly name: string;
  /** A colour of the style sheet. */
  readonly colour: string;
  readonly values: readonly (number | null)[];
}

interface ChartProps {
  /** What it shows, for who cannot see it. */
  readonly label: string;
  /** Epoch milliseconds. */
  readonly times: readonly number[];
  readonly lines: readonly Line[];
  readonly bars?: boolean;
  /** Called with the part that was drawn over, in epoch milliseconds. */
  readonly zoom?: (from: number, to: number) => void;
}

/** Values over time. */
export function Chart({ label, times, lines, bars = false, zoom }: ChartProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot>(null);
  const dark = isDark.value;
  const zoomRef = useRef(zoom);
  zoomRef.current = zoom;
  const data: uPlot.AlignedData = [times.map((time) => time / 1000), ...lines.map(({ values }) => [...values])];

  useEffect(() => {
    const target = place.current;
    if (!target) return undefined;
    const drawn = new uPlot(optionsOf({ label, times, lines, bars }, target.clientWidth, zoomRef), data, target);
    chart.current = drawn;
    const resize = new ResizeObserver(() => drawn.setSize({ width: target.clientWidth, height: HEIGHT }));
    resize.observe(target);
    return () => {
      resize.disconnect();
      drawn.destroy();
      chart.current = null;
    };
    // The drawing is made anew if its look changes; its data are set below.
  }, [dark, bars, language.value, lines.map(({ name }) => name).join()]);

  useEffect(() => chart.current?.setData(data));

  return <div class="chart" ref={place} role="img" aria-label={label} />;
}

function optionsOf(
  { lines, times, bars = false }: ChartProps,
  width: number,
  zoom: { readonly current: ChartProps['zoom'] | undefined },
): uPlot.Options {
  const axis = { stroke: colour('muted'), grid: { stroke: colour('line'), width: 1 }, ticks: { show: false } };
  return {
    width,
    height: HEIGHT,
    legend: { show: lines.length > 1 },
    cursor: { drag: { x: zoom.current !== undefined, y: false, setScale: false }, points: { size: 6 } },
    scales: { x: { time: true }, y: { range: (_plot, _low, high) => [0, Math.max(1, high * 1.1)] } },
    axes: [
      { ...axis, values: (_plot, splits, _index, _space, increment) => splits.map((at) => tickOf(at, increment)) },
      { ...axis, size: 52, values: (_plot, splits) => splits.map((value) => shortNumber(value)) },
    ],
    series: [
      { value: (_plot, at) => (at === null ? '' : tickOf(at, 1)) },
      ...lines.map(({ name, colour: lineColour }) => ({
        label: name,
        stroke: colour(lineColour),
        width: bars ? 0 : 2,
        fill: bars ? colour(lineColour) : `${colour(lineColour)}22`,
        // A line of few values would be none.
        points: { show: !bars && times.length <= FEW, size: 5 },
        value: (_plot: uPlot, value: number | null) => (value === null ? '' : shortNumber(value)),
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
        ? { weekday: 'short', hour: '2-digit', minute: '2-digit' }
        : increment >= 60
          ? { hour: '2-digit', minute: '2-digit' }
          : { hour: '2-digit', minute: '2-digit', second: '2-digit' };
  return new Intl.DateTimeFormat(language.value, parts).format(at * 1000);
}

function shortNumber(value: number): string {
  return new Intl.NumberFormat(language.value, { notation: 'compact', maximumFractionDigits: 1 }).format(value);
}

const SPARK_WIDTH = 80;
const SPARK_HEIGHT = 22;

/** A line without axes, beside the figure that it leads to. */
export function Sparkline({ values, label }: { values: readonly number[]; label: string }): JSX.Element {
  const most = Math.max(...values, 0);
  const step = values.length > 1 ? SPARK_WIDTH / (values.length - 1) : 0;
  const points = values.map((value, i) => {
    const y = most === 0 ? SPARK_HEIGHT - 1 : SPARK_HEIGHT - 1 - (value / most) * (SPARK_HEIGHT - 2);
    return `${(i * step).toFixed(1)},${y.toFixed(1)}`;
  });
  return (
    <svg class="spark" viewBox={`0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}`} role="img" aria-label={label}>
      <polyline points={points.join(' ')} />
    </svg>
  );
}
