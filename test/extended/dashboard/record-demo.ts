import { writeFile } from 'node:fs/promises';
import type { Json } from '../../../lib/dashboard/browser/json.js';
import type { Told } from '../../../lib/dashboard/watched-look.js';
import type { FleetEvent } from '../../../lib/events/fleet-event.js';
import { LIVE, type RecordedEvent, nameOf, packed, recorded } from '../../../docs/demo/recording.js';
import type { DashboardUser } from '../../../lib/dashboard/access.js';
import { startRedis } from '../../support/servers/redis-server.js';
import { crawl } from './crawl.js';
import { OPERATOR, Shop } from './open-shop.js';
import { HOSTILE } from './shop-messages.js';

export const RECORDING = 'docs/demo/recording.json';

/** For so long the shop is in business before what its pages show is recorded, in milliseconds. */
const BUSINESS = 4 * 60_000;

/** So many events are recorded. */
const EVENTS = 60;

/** Lines of stacks, as JSON has them. */
const LIBRARY_FRAMES = /\\n {4}at [^\\"]*\/dist\/cjs\/[^\\"]*/g;

/** Names of processes: the pages show no more than the end of the id. */
const PROCESSES = /[\w.-]+:(\d+):[0-9a-f-]{32}([0-9a-f]{4})\b/g;

const VISITOR = { right: 'read', actor: 'visitor@example.com' } as const;
const HEADERS = headersOf(VISITOR);

/** Records what somebody who only looks is shown of a shop, on all pages that links lead to. */
export async function recordDemo(): Promise<void> {
  const server = await startRedis(['--appendonly', 'yes']);
  const shop = new Shop(server.url);
  try {
    await shop.open();
    const page = await shop.page('#/', { user: VISITOR });
    const base = page.url().replace(/#.*/, '');
    const [events] = await Promise.all([eventsAt(base), shop.trade(BUSINESS)]);
    await runNow(base, 'digest.weekly');
    const looks = new Map<string, Promise<unknown>>();
    page.on('request', (request) => {
      for (const look of looksOf(request.url(), base)) {
        if (!looks.has(look)) looks.set(look, lookAt(base, look));
      }
    });
    await page.reload();
    await crawl(page);
    const answers = await Promise.all([...looks].map(async ([look, answer]) => [nameOf(look), await answer] as const));
    await writeRecording(Object.fromEntries(answers), events);
  } finally {
    await shop.close();
    await server.stop();
  }
}

function headersOf(user: DashboardUser): Record<string, string> {
  return { 'x-user': JSON.stringify(user) };
}

/** So that an id with a time in it is listed: nobody handles its topic. */
async function runNow(base: string, id: string): Promise<void> {
  const headers = { ...headersOf(OPERATOR), 'content-type': 'application/json', 'x-delay-queue-dashboard': '1' };
  const response = await fetch(new URL('api/schedules/run-now', base), {
    method: 'POST',
    headers,
    body: JSON.stringify({ id }),
  });
  if (!response.ok) throw new Error(`${id} is not run: ${await response.text()}`);
}

/** What a request of a page asks for. */
function looksOf(url: string, base: string): string[] {
  const { pathname, search, searchParams } = new URL(url);
  const path = pathname.slice(new URL('.', base).pathname.length);
  if (path === 'api/watch') return searchParams.getAll('look').filter((look) => look !== LIVE);
  return path.startsWith('api/') ? [path + search] : [];
}

async function lookAt(base: string, look: string): Promise<unknown> {
  const response = await fetch(new URL(look, base), { headers: HEADERS });
  if (!response.ok) throw new Error(`${look} is answered with ${response.status}: ${await response.text()}`);
  return packed(await response.json());
}

async function eventsAt(base: string): Promise<RecordedEvent[]> {
  const { body } = await fetch(new URL(`api/watch?look=${LIVE}`, base), { headers: HEADERS });
  let text = '';
  for await (const part of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += part;
    const told = [...text.matchAll(/^data: (.*)\n/gm)].map(([, data = '']) => JSON.parse(data) as Told);
    const events = told.map(({ answer }) => answer as Json<FleetEvent>).filter((event) => 'at' in event);
    if (events.length >= EVENTS) return events.slice(0, EVENTS);
  }
  throw new Error('The stream of events has ended too soon.');
}

/** A look a line, without what tells of this machine, leads to elsewhere, is there for tests alone, or makes the recording large. */
async function writeRecording(
  looks: Readonly<Record<string, unknown>>,
  events: readonly RecordedEvent[],
): Promise<void> {
  const { traceUrl: _traceUrl, ...session } = looks['api/session'] as Record<string, unknown>;
  const { at } = looks['api/clock'] as { at: string };
  const lines = Object.entries({ ...looks, 'api/session': session }).map(
    ([look, answer]) => `${JSON.stringify(look)}:${JSON.stringify(answer)}`,
  );
  const told = events.map((event) => JSON.stringify(event));
  const text = `{"looks":{
${recorded(lines.join(',\n'), Date.parse(at))}
},"events":[
${recorded(told.join(',\n'), Date.parse(events[0]?.at ?? ''))}
]}
`;
  const clean = text
    .replaceAll(process.cwd(), '/app')
    .replaceAll(LIBRARY_FRAMES, '')
    .replaceAll(PROCESSES, 'shop:$1:$2')
    .replaceAll(JSON.stringify(HOSTILE).slice(1, -1), 'leave it at the door');
  await writeFile(RECORDING, clean);
}
