import { type Measure, OURS, grouped } from '../figures/figure.js';
import type { FigureReport, Report } from './report.js';
import { rowsOf } from './summary.js';
import { type SvgNode, svg, toSvg } from './svg.js';

/** Each panel shows one measure of a figure. */
const PANELS: readonly (readonly [figure: string, measure: string])[] = [
  ['backlog', 'rate'],
  ['publish', 'later'],
  ['publish-many', 'later'],
  ['burst', 'max'],
  ['spread', 'p99'],
  ['memory', 'bytes'],
];

const COLUMNS = 2;
const PANEL = { width: 440, height: 168, padding: 18 };
const BAR = { height: 18, gap: 8, left: 128, right: 84, top: 46 };
const COLOURS = { background: '#ffffff', text: '#24292f', muted: '#6e7781', ours: '#e0234e', others: '#afb8c1' };

/** The main figures as bars: one panel per figure, one bar per contender. Empty if none of them was measured. */
export function chartOf(report: Report): string {
  const panels = PANELS.flatMap(([name, key]) => {
    const figure = report.figures.find((candidate) => candidate.name === name);
    const measure = figure?.measures.find((candidate) => candidate.key === key);
    return figure && measure ? [{ figure, measure }] : [];
  });
  const width = COLUMNS * PANEL.width;
  const height = Math.ceil(panels.length / COLUMNS) * PANEL.height;
  return toSvg(
    svg(
      'svg',
      {
        xmlns: 'http://www.w3.org/2000/svg',
        viewBox: `0 0 ${width} ${height}`,
        width,
        height,
        role: 'img',
        'font-family': 'system-ui, sans-serif',
        'font-size': 13,
      },
      svg('title', {}, 'nestjs-delay-queue beside other queues'),
      svg('rect', { width, height, fill: COLOURS.background }),
      ...panels.map(({ figure, measure }, i) => {
        const x = (i % COLUMNS) * PANEL.width;
        const y = Math.floor(i / COLUMNS) * PANEL.height;
        return svg('g', { transform: `translate(${x} ${y})` }, ...panel(figure, measure));
      }),
    ),
  );
}

function panel(figure: FigureReport, { key, label, unit, better, digits }: Measure): SvgNode[] {
  const bars = rowsOf(figure).flatMap(({ subject, cells }) => {
    const value = cells.get(key)?.median;
    return value === undefined ? [] : [{ subject, value }];
  });
  const largest = Math.max(...bars.map(({ value }) => value), Number.MIN_VALUE);
  const room = PANEL.width - BAR.left - BAR.right;
  const { padding } = PANEL;
  return [
    svg('text', { x: padding, y: 22, fill: COLOURS.text, 'font-weight': 600 }, figure.title),
    svg('text', { x: padding, y: 38, fill: COLOURS.muted, 'font-size': 11 }, `${label}, ${unit}; ${better} is better`),
    ...bars.flatMap(({ subject, value }, i) => {
      const y = BAR.top + i * (BAR.height + BAR.gap);
      const width = Math.max(1, Math.round((value / largest) * room));
      const baseline = y + BAR.height - 5;
      const fill = subject === OURS ? COLOURS.ours : COLOURS.others;
      return [
        svg(
          'text',
          { x: BAR.left - 8, y: baseline, fill: COLOURS.text, 'text-anchor': 'end', 'font-size': 12 },
          subject,
        ),
        svg('rect', { x: BAR.left, y, width, height: BAR.height, rx: 2, fill }),
        svg('text', { x: BAR.left + width + 6, y: baseline, fill: COLOURS.text }, grouped(value, digits)),
      ];
    }),
  ];
}
