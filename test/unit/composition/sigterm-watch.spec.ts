import { afterEach, describe, expect, it, vi } from 'vitest';
import { SignalWatch } from '../../../lib/composition/sigterm-watch.js';
import { NoShutdownHooksError } from '../../../lib/errors/operation.errors.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';

afterEach(() => void vi.restoreAllMocks());

describe('SignalWatch', () => {
  it('warns and emits once, if nothing listens to SIGTERM 5 s after the boot', async () => {
    let listeners = 1;
    const listenerCount = process.listenerCount.bind(process);
    // Node.js asks for the listeners of messages, and keeps those back for which there seems to be none: the runner waits for ever.
    vi.spyOn(process, 'listenerCount').mockImplementation((event) =>
      event === 'SIGTERM' ? listeners : listenerCount(event),
    );
    const clock = new ManualClock();
    const lines: string[] = [];
    const emitted: unknown[] = [];
    const watch = (): SignalWatch =>
      new SignalWatch(
        clock,
        { log: () => {}, warn: (line) => void lines.push(line), error: () => {} },
        { wants: () => true, emit: (_kind, event) => void emitted.push(event) },
      );
    const cost = { lease: 30_000, heartbeat: 5000 };

    const stopped = watch();
    stopped.start(cost);
    stopped.stop();
    watch().start(cost);
    await clock.advance(5000);
    expect([lines, emitted]).toEqual([[], []]);
    listeners = 0;

    watch().start(cost);
    await clock.advance(4999);
    expect(lines).toEqual([]);
    await clock.advance(1);
    watch().start(cost);
    await clock.advance(5000);

    expect(lines).toEqual([
      expect.stringMatching(/messages come again up to 30 s later, [^.]* and its partitions wait up to 10 s/),
    ]);
    expect(emitted).toEqual([{ source: 'shutdown', error: expect.any(NoShutdownHooksError) as unknown }]);
  });

  it('says of a process that delivers at most once alone that messages are lost', () => {
    expect(new NoShutdownHooksError(0, 1000).message).toMatch(
      /: their messages are lost if they are delivered at most/,
    );
  });
});
