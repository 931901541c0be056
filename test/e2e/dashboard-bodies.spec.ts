import { isDeepStrictEqual } from 'node:util';
import { DelayQueueAdmin, DelayQueueEvents, DelayQueueSchedules } from 'nestjs-delay-queue';
import { afterEach, describe, expect, it } from 'vitest';
import { serveDashboard } from '../../lib/dashboard/serve-dashboard.js';
import { useBed } from '../support/app/bed.js';
import { OWN_HEADERS, TestDashboard, openDashboard } from '../support/app/dashboard.js';
import { HTTP_PLATFORMS, type HttpPlatform } from '../support/app/platforms.js';
import { CORPUS, around } from '../support/json-corpus/corpus.js';
import { type Door, type DoorAnswer, valueOf, wrongAt } from '../support/json-corpus/doors.js';

const bed = useBed();
const alone: { close(): Promise<void> }[] = [];

// Before the connection is closed that they show.
afterEach(async () => {
  await Promise.all(alone.splice(0).map(async (served) => served.close()));
});

async function open(kind: HttpPlatform | 'alone'): Promise<TestDashboard> {
  if (kind !== 'alone') return openDashboard(bed, { platform: kind });
  const app = await bed.start({ options: { consumer: false } });
  const queues = {
    admin: app.get(DelayQueueAdmin),
    schedules: app.get(DelayQueueSchedules),
    events: app.get(DelayQueueEvents),
  };
  const served = await serveDashboard({ queues, port: 0, operate: true, log: { error: () => {} } });
  alone.push(served);
  return new TestDashboard(app, served.url);
}

/** What the page shows, and begins an edit with. */
interface Shown {
  readonly id: string;
  readonly payload?: unknown;
  readonly editable: boolean;
}

function comesOut({ id, payload, editable }: Shown): readonly [string, unknown] {
  return [id, editable ? payload : 'cannot be edited'];
}

async function edit(dashboard: TestDashboard, body: Buffer): Promise<DoorAnswer> {
  const init = { method: 'POST', headers: OWN_HEADERS, body: new Uint8Array(body) };
  const response = await dashboard.fetch('api/edit', init);
  const { error } = (await response.json()) as { error?: { code: string; message: string } };
  return { status: response.status, code: error?.code, detail: error?.message };
}

/** Where payloads come in: an edit is the only such action of the page. */
function editing(dashboard: TestDashboard): Door {
  return {
    place: 'payload',
    noJson: 'INVALID_ARGUMENT',
    async prepare(ids) {
      const messages = ids.map((id) => ({ payload: 'before', options: { id, delay: '1h' } as const }));
      await dashboard.app.producer.publishMany('jobs', messages);
    },
    put: async (row, id) => edit(dashboard, around(row, `{"topic":"jobs","id":"${id}","payload":`)),
    async out(ids) {
      const { messages } = await dashboard.get<{ messages: Shown[] }>('api/messages?topic=jobs&state=scheduled');
      const one = async (id: string) => dashboard.get<{ message: Shown }>(`api/message?topic=jobs&id=${id}`);
      const each = (await Promise.all(ids.map(one))).map(({ message }) => message);
      return [...messages.filter(({ id }) => ids.includes(id)), ...each].map(comesOut);
    },
  };
}

describe.each<HttpPlatform | 'alone'>([...HTTP_PLATFORMS, 'alone'])('the dashboard (%s)', (kind) => {
  it('stores each text of JSON that is edited equal and shows it so, or refuses it by its path', async () => {
    expect(await wrongAt(editing(await open(kind)))).toEqual([]);
  });

  it('shows the payloads of schedules as they are', async () => {
    const dashboard = await open(kind);
    const rows = CORPUS.filter(({ kept }) => kept);
    const shown = rows.map(async (row, id) => {
      const schedule = { id: String(id), topic: 'jobs', payload: valueOf(row), every: '1d' } as const;
      await dashboard.app.get(DelayQueueSchedules).upsert(schedule);
      return comesOut((await dashboard.get<{ schedule: Shown }>(`api/schedule?id=${id}`)).schedule);
    });
    const all = await Promise.all(shown);
    const wrong = rows.filter((row, id) => !isDeepStrictEqual(all[id], [String(id), valueOf(row)]));
    expect(wrong.map(({ content }) => content.toString())).toEqual([]);
  });

  it('takes an edit that is larger than the parsers of the application take', async () => {
    const dashboard = await open(kind);
    await dashboard.app.producer.publish('jobs', 'before', { id: 'a', delay: '1h' });
    const payload = 'x'.repeat(1_000_000);
    expect(await dashboard.post('api/edit', { topic: 'jobs', id: 'a', payload })).toEqual({ result: 'edited' });
  });
});
