import { expect, it } from 'vitest';
import { TOPIC, useCliBed } from '../support/cli/cli-bed.js';
import { eventually } from '../support/waiting.js';

const bed = useCliBed(
  'file',
  async (filled) => {
    const tags = ['eu'];
    await filled.whileHandling(async (producer) => {
      await producer.publish(TOPIC, { a: 1 }, { id: 'done', tags });
      await eventually(async () => {
        if ((await filled.admin.stats(TOPIC)).finished === 0) throw new Error('It has not ended.');
      });
      await producer.publish(TOPIC, { a: 2 }, { id: 'gone', delay: '1h' });
    });
    await filled.admin.cancel(TOPIC, 'gone');
  },
  { finished: true },
);

it('what has ended is listed with what became of it, and shown', async () => {
  const { stdout } = await bed.run('peek', TOPIC, '--state', 'finished');
  expect(stdout).toMatch(
    /^ID +KEY +ENDED +ATTEMPTS +OUTCOME +TAGS +PAYLOAD\ndone .* ago +1 +acked +eu +.*\ngone .* cancelled +\{"a":2\}\n$/,
  );
  expect(await bed.json('peek', TOPIC, '--state', 'finished')).toMatchObject({
    state: 'finished',
    messages: [
      { id: 'done', outcome: 'acked', tags: ['eu'] },
      { outcome: 'cancelled', tags: [] },
    ],
  });
  const one = await bed.run('get', TOPIC, 'done');
  expect(one.stdout).toMatch(
    /^state +finished: acked\npublished +\S+Z .*\nwas due +.*\nended +.*\nprocess +\S+\nran for +\d+m?s\n/m,
  );
  const why = await bed.run('explain', TOPIC, 'gone');
  expect(why.stdout).toMatch(/^cause +finished: it has ended\nended +.*\nadvice +It was cancelled at /);
});
