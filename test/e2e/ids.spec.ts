import { randomUUID } from 'node:crypto';
import { DelayQueueAdmin } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { Jobs } from '../support/app/jobs.js';
import { abortOf, eventually } from '../support/waiting.js';

const bed = useBed();

async function start() {
  const app = await bed.start({ providers: [Jobs], options: { defaults: { attempts: 1 } } });
  return { producer: app.producer, events: app.events, jobs: app.get(Jobs), admin: app.get(DelayQueueAdmin) };
}

const uuid = randomUUID();

describe.each([
  { what: 'a drawn id', options: {} },
  { what: 'a drawn id and a key', options: { key: 'customer-7' } },
  { what: 'a UUID', options: { id: uuid } },
  { what: 'a UUID and a UUID as its key', options: { id: uuid, key: randomUUID() } },
  { what: 'a UUID in capitals', options: { id: uuid.toUpperCase() } },
  { what: 'an id that begins with a dot', options: { id: '.net' } },
  { what: 'an id that looks like a shortened UUID', options: { id: '.EmJ3s3y8FSDP2-B4u1kn-F' } },
  { what: 'a dot and a key', options: { id: '.', key: '.' } },
])('a message with $what', ({ options }) => {
  it('is found by it, with and without its key, while it waits', async () => {
    const { producer, events, admin } = await start();
    const { id } = await producer.publish('jobs', 1, { ...options, delay: '1h' });
    const name = { id, key: options.key ?? id };

    expect(options.id ?? id).toBe(id);
    expect((await events.published.first()).id).toBe(id);
    const { messages } = await admin.peek('jobs', 'scheduled');
    expect(messages).toMatchObject([name]);
    for (const which of [id, name]) {
      expect(await admin.get('jobs', which)).toMatchObject({ ...name, payload: 1 });
      expect(await producer.reschedule('jobs', which, { delay: '2h' })).toBe('moved');
      expect(await admin.edit('jobs', which, 1)).toBe('edited');
    }
    const again = producer.publish('jobs', 2, { ...name, delay: '1h' });
    await expect(again).rejects.toThrow(`'${id}'`);
    expect(await producer.cancel('jobs', id)).toBe('cancelled');
    expect(await producer.cancel('jobs', name)).toBe('not-found');
  });

  it('is handled under it, and a cancel reaches its handler', async () => {
    const { producer, jobs } = await start();
    const reasons: unknown[] = [];
    jobs.respond = async (_payload, { signal }) => reasons.push(await abortOf(signal));
    const { id } = await producer.publish('jobs', 1, options);

    const [call] = await jobs.called();
    expect(call?.message).toMatchObject({ id, key: options.key ?? id });
    expect(await producer.cancel('jobs', id)).toBe('in-flight');
    await eventually(() => expect(reasons).toMatchObject([{ code: 'CANCELLED' }]));
  });

  it('is found by it as a dead letter', async () => {
    const { producer, events, jobs, admin } = await start();
    jobs.respond = (payload) => {
      if (payload === 'bad') throw new Error('down');
    };
    const { id } = await producer.publish('jobs', 'bad', options);
    const name = { id, key: options.key ?? id };
    expect(await events.dead.first()).toMatchObject(name);

    const { groups } = await admin.deadLetterGroups('jobs');
    expect(groups).toMatchObject([{ example: name }]);
    expect(await admin.requeue('jobs', name, { dryRun: true })).toMatchObject({ matched: 1 });
    expect(await admin.requeue('jobs', id, { payload: 'good' })).toMatchObject({ changed: 1 });
    expect(await events.acked.first()).toMatchObject(name);
    expect(jobs.ids).toEqual([id, id]);
  });
});
