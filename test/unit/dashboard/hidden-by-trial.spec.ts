import { expect, it } from 'vitest';
import { READING_ROUTES } from '../../../lib/dashboard/reading.routes.js';
import { type AskedContext, Given, type Route, answerOf } from '../../../lib/dashboard/route.js';
import { SharedLooks } from '../../../lib/dashboard/shared-looks.js';
import { viewerOf } from '../../../lib/dashboard/viewer.js';
import { SeededRandom } from '../../support/random.js';
import { AdminBed, TOPIC } from '../../support/units/admin-bed.js';

/** Two fleets that differ in nothing but what is hidden, in its text as in its length. */
const SECRETS = ['4711081', 'x'.repeat(300_000)];

/** Ends of words that somebody would try, some of which are in the one secret or the other. */
const GUESSES = ['4', '47', '4711', 'x', 'xx', 'card', '"card":"4', 'note', 'm1', '***', 'undefined'];

/** The card is what nobody may see. */
const redact = (payload: unknown): object => ({ ...(payload as object), card: '***' });

/** What a viewer gets to see who may see payloads, and of these all but the card. */
async function contextOf(bed: AdminBed, secret: string): Promise<AskedContext> {
  for (let i = 0; i < 30; i++) await bed.publish(`m${i}`, { due: i, payload: { card: `${secret}${i}`, note: i } });
  // The serializer of these is elsewhere.
  for (let i = 0; i < 3; i++) await bed.publish(`s${i}`, { envelope: JSON.stringify([1, { card: secret }, { s: 1 }]) });
  return { queues: { admin: bed.admin }, clock: bed.clock, viewer: viewerOf('read'), redact } as never;
}

it('nothing that is hidden can be told from what is found, how much was read, or where a page ends', async () => {
  const contexts = await Promise.all(SECRETS.map(async (secret) => contextOf(await AdminBed.open(), secret)));
  const shared = contexts.map(({ clock }) => new SharedLooks(clock));
  const random = new SeededRandom();
  let cursor: string | undefined;
  let found = 0;
  for (let i = 0; i < 300; i++) {
    const guess = GUESSES[random.integer(0, GUESSES.length - 1)] ?? '';
    const route = random.next() < 0.2 ? 'api/messages' : 'api/search';
    const by = random.next() < 0.5 ? { text: guess } : { field: random.next() < 0.5 ? 'card' : 'note', value: guess };
    const asked = { topic: TOPIC, state: 'scheduled', ...(route === 'api/search' && by), ...(cursor && { cursor }) };
    const answers = await Promise.all(
      contexts.map(async (context, fleet) => {
        const looked = shared[fleet]?.answer(async (looks) =>
          answerOf({ ...context, looks }, new Given(asked), READING_ROUTES[route] as Route),
        );
        return (await looked)?.answer as Answer;
      }),
    );
    expect(answers[0]).toEqual(answers[1]);
    found += answers[0]?.messages.length ?? 0;
    cursor = route === 'api/search' ? undefined : answers[0]?.cursor;
  }
  expect(found).toBeGreaterThan(0);
});

interface Answer {
  readonly messages: readonly object[];
  readonly cursor: string | undefined;
}
