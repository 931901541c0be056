import { setImmediate as turn } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { ReplicatedLink } from '../../../../lib/engines/redis/scripts/replicated-calls.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';

type Answers = [error: Error | null, result: unknown][];

/** A link to a server that answers when the test decides. */
function setUp() {
  const clock = new ManualClock();
  const pipelines: { readonly commands: unknown[][]; readonly answer: (answers: Answers) => void }[] = [];
  const disconnects: unknown[] = [];
  const client = {
    pipeline: () => {
      const commands: unknown[][] = [];
      return {
        call: (...command: unknown[]) => commands.push(command),
        wait: (...args: unknown[]) => commands.push(['wait', ...args]),
        exec: async () => new Promise<Answers>((answer) => pipelines.push({ commands, answer })),
      };
    },
    disconnect: (...args: unknown[]) => disconnects.push(args),
  };
  const link = new ReplicatedLink(client as unknown as Redis, clock);
  const run = async (name: string, timeout = 500): Promise<unknown> =>
    link
      .run({ name: 'evalsha', args: [name] }, { min: 2, timeout })
      .then(({ reply, confirmedBy }) => `${String(reply)} ${confirmedBy}`, String);
  return { clock, pipelines, disconnects, run };
}

describe('ReplicatedLink', () => {
  it('sends the scripts of one turn in one pipeline with one WAIT, and those that come meanwhile in the next', async () => {
    const { pipelines, run } = setUp();
    const first = [run('a'), run('b')];
    await turn();
    const later = [run('c'), run('d')];
    await turn();
    expect(pipelines.map(({ commands }) => commands)).toEqual([
      [
        ['evalsha', 'a'],
        ['evalsha', 'b'],
        ['wait', 2, 500],
      ],
    ]);

    const answers: Answers = [
      [null, 'A'],
      [null, 'B'],
      [null, 2],
    ];
    pipelines[0]?.answer(answers);
    expect(await Promise.all(first)).toEqual(['A 2', 'B 2']);
    await turn();
    expect(pipelines[1]?.commands).toEqual([
      ['evalsha', 'c'],
      ['evalsha', 'd'],
      ['wait', 2, 500],
    ]);
    pipelines[1]?.answer(answers);
    expect(await Promise.all(later)).toEqual(['A 2', 'B 2']);
  });

  it('waits apart for what asks for something else', async () => {
    const { clock, pipelines, run } = setUp();
    const all = [run('a'), run('b', 100), run('c')];
    await turn();
    expect(pipelines[0]?.commands).toEqual([
      ['evalsha', 'a'],
      ['evalsha', 'c'],
      ['wait', 2, 500],
    ]);
    pipelines[0]?.answer([
      [null, 'A'],
      [null, 'C'],
      [null, 2],
    ]);
    await turn();
    expect(pipelines[1]?.commands).toEqual([
      ['evalsha', 'b'],
      ['wait', 2, 100],
    ]);
    await clock.advance(100);
    pipelines[1]?.answer([
      [null, 'B'],
      [null, 1],
    ]);

    expect(await Promise.all(all)).toEqual(['A 2', 'B 1', 'C 2']);
  });

  it('tells each script its own failure, and all of them that of WAIT', async () => {
    const { pipelines, run } = setUp();
    const all = [run('a'), run('b')];
    await turn();
    pipelines[0]?.answer([
      [new Error('NOSCRIPT'), undefined],
      [null, 'B'],
      [new Error('UNBLOCKED'), undefined],
    ]);

    expect(await Promise.all(all)).toEqual(['Error: NOSCRIPT', 'Error: UNBLOCKED']);
  });

  it('connects again if there is no answer 10 s after the time to wait for replicas is over', async () => {
    const { clock, disconnects, pipelines, run } = setUp();
    const first = run('a');
    await turn();
    await clock.advance(10_499);
    expect(disconnects).toEqual([]);

    await clock.advance(1);
    expect(await first).toContain('No answer within 10500 ms');
    expect(disconnects).toEqual([[true]]);
    void run('b');
    await turn();
    expect(pipelines).toHaveLength(2);
  });
});
