import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Progress, whileTelling } from '../../../lib/cli/progress.js';
import { Gate } from '../../support/waiting.js';
import { FakeTerminal } from '../../support/cli/fake-terminal.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'setInterval', 'clearInterval'] });
});

afterEach(() => {
  vi.useRealTimers();
});

/** What was written is there in the next turn. */
async function errorsOf(terminal: FakeTerminal): Promise<string> {
  await new Promise(setImmediate);
  return terminal.errors;
}

describe('progress', () => {
  it('is a bar on a terminal, which is drawn now and then and is gone at the end', async () => {
    const terminal = new FakeTerminal({ isTTY: true });
    const progress = new Progress(terminal, (_, text) => text, 'requeued', 1000);
    progress.update(10);
    vi.advanceTimersByTime(1000);
    progress.update(250);
    progress.update(300);
    progress.end();

    const bar = `${'█'.repeat(6)}${'░'.repeat(18)}`;
    expect(await errorsOf(terminal)).toBe(`\r\u001B[2K${bar} 250 of 1,000 requeued, 250/s, 3s left\r\u001B[2K`);
  });

  it('is a line every ten seconds elsewhere', async () => {
    const terminal = new FakeTerminal();
    const progress = new Progress(terminal, (_, text) => text, 'removed', 3000);
    for (let second = 1; second <= 25; second++) {
      vi.advanceTimersByTime(1000);
      progress.update(second * 100);
    }
    progress.end();
    expect(await errorsOf(terminal)).toBe(
      '1,000 of 3,000 removed, 100/s, 20s left\n2,000 of 3,000 removed, 100/s, 10s left\n',
    );
  });

  it('has neither a bar nor a rest if nobody knows how many there are', async () => {
    const terminal = new FakeTerminal({ isTTY: true });
    const progress = new Progress(terminal, (_, text) => text, 'counted');
    vi.advanceTimersByTime(500);
    progress.update(5);
    expect(await errorsOf(terminal)).toBe('\r\u001B[2K5 counted, 10/s');
  });

  it('says nothing of what is done at once', async () => {
    const terminal = new FakeTerminal({ isTTY: true });
    const progress = new Progress(terminal, (_, text) => text, 'requeued', 1);
    progress.update(1);
    progress.end();
    expect(await errorsOf(terminal)).toBe('');
  });
});

describe('what does not tell how far it is', () => {
  it.each([
    { isTTY: true, told: '\r\u001B[2KReading … 1s\r\u001B[2KReading … 2s\r\u001B[2K' },
    { isTTY: false, told: '' },
  ])('is told of on a terminal: $isTTY', async ({ isTTY, told }) => {
    const terminal = new FakeTerminal({ isTTY });
    const reading = new Gate();
    const result = whileTelling(
      terminal,
      'Reading',
      reading.opened.then(() => 'read'),
    );
    vi.advanceTimersByTime(2500);
    reading.open();
    expect(await result).toBe('read');
    expect(await errorsOf(terminal)).toBe(told);
  });
});
