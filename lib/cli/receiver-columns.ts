import type { FleetReceiver } from '../admin/index.js';
import type { Paint } from './paint.js';
import type { Column } from './table.js';
import { shown, shownNumber } from './text.js';
import { relative } from './times.js';

const STYLES = { busy: 'green', idle: 'dim', gone: 'yellow' } as const;

/** Returns the columns of a list of consumers that receive messages. */
export function receiverColumns(now: number, paint: Paint): Column<FleetReceiver>[] {
  return [
    { title: 'RECEIVER', cell: ({ consumer }) => shown(consumer) },
    { title: 'TOPIC', cell: ({ topic }) => topic },
    { title: 'STATE', cell: ({ state }) => state, paint: (text, { state }) => paint(STYLES[state], text) },
    { title: 'HAS', cell: ({ holding }) => shownNumber(holding), align: 'right' },
    { title: 'ASKED', cell: ({ waiting, seenAt }) => (waiting > 0 ? 'waits' : relative(seenAt, now)) },
    { title: 'FROM', cell: ({ processes }) => shown(processes.join(', ')) },
  ];
}
