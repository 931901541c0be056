import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OutageLog } from '../../../../../lib/engines/redis/connection/outage-log.js';
import { ManualClock } from '../../../../../lib/testing/manual-clock.js';

const REFUSED = new Error('connect ECONNREFUSED 127.0.0.1:6379');
const RESET = new Error('read ECONNRESET');

describe('OutageLog', () => {
  let clock: ManualClock;
  let lines: string[];
  let outage: OutageLog;
  let explain: (error: Error | undefined) => Promise<Error | undefined>;

  beforeEach(() => {
    clock = new ManualClock();
    lines = [];
    explain = async (error) => error;
    outage = new OutageLog({
      address: 'here:6379',
      clock,
      log: {
        log: (line) => lines.push(`log ${line}`),
        warn: (line) => lines.push(`warn ${line}`),
        error: (line) => lines.push(`error ${line}`),
      },
      explain: async (error) => explain(error),
    });
    outage.start();
  });
  afterEach(() => {
    outage.close();
  });

  const pass = async (milliseconds: number): Promise<void> => clock.advance(milliseconds);

  it('reports an outage once, and its end', async () => {
    outage.failed('commands', REFUSED);
    await pass(1500);
    outage.failed('commands', REFUSED);
    await pass(1500);
    outage.recovered('commands');
    await pass(0);

    expect(lines).toEqual([
      'warn Redis at here:6379 is lost: connect ECONNREFUSED 127.0.0.1:6379',
      'log Redis at here:6379 is back after 3.0 s',
    ]);
  });

  it('treats alternating errors of both connections as one outage', async () => {
    for (let i = 0; i < 100; i++) {
      outage.failed('commands', i % 2 ? REFUSED : RESET);
      outage.failed('subscriber', i % 3 ? REFUSED : RESET);
      await pass(400);
    }
    outage.recovered('commands');
    outage.failed('subscriber', REFUSED);
    outage.recovered('subscriber');
    await pass(0);

    expect(lines).toHaveLength(2);
    expect(lines[1]).toContain('is back after 40.0 s');
  });

  it('reports once a minute while it lasts, with the current cause', async () => {
    outage.failed('commands', RESET);
    for (let i = 0; i < 130; i++) {
      await pass(1000);
      outage.failed('commands', REFUSED);
    }

    expect(lines).toEqual([
      'warn Redis at here:6379 is lost: read ECONNRESET',
      'warn Redis at here:6379 is still away after 60.0 s: connect ECONNREFUSED 127.0.0.1:6379',
      'warn Redis at here:6379 is still away after 120.0 s: connect ECONNREFUSED 127.0.0.1:6379',
    ]);
  });

  it('does not report a connection that is closed without an error and made anew at once', async () => {
    outage.failed('commands');
    await pass(900);
    outage.recovered('commands');
    await pass(5000);

    expect(lines).toEqual([]);
  });

  it('reports a connection that is closed without an error and stays away', async () => {
    outage.failed('commands');
    await pass(1000);
    outage.recovered('commands');
    await pass(0);

    expect(lines).toEqual([
      'warn Redis at here:6379 is lost: the connection was closed',
      'log Redis at here:6379 is back after 1.0 s',
    ]);
  });

  it('waits for the explanation of an error, and keeps the order of its lines', async () => {
    explain = async () => new Promise((resolve) => clock.setTimer(800, () => resolve(new Error('no TLS'))));
    outage.failed('commands', RESET);
    await pass(200);
    outage.recovered('commands');
    expect(lines).toEqual([]);
    await pass(1000);

    expect(lines).toEqual(['warn Redis at here:6379 is lost: no TLS', 'log Redis at here:6379 is back after 0.2 s']);
  });

  it('has the current cause: that of the last error, explained if it is the same', async () => {
    explain = async () => new Error('no TLS');
    expect(outage.cause).toBeUndefined();
    outage.failed('commands', RESET);
    expect(outage.cause).toBe(RESET);
    await pass(0);
    expect(outage.cause?.message).toBe('no TLS');
    outage.failed('commands', REFUSED);
    expect(outage.cause).toBe(REFUSED);
    outage.failed('subscriber', REFUSED);
    outage.recovered('commands');
    expect(outage.cause).toBe(REFUSED);
    outage.recovered('subscriber');
    expect(outage.cause).toBeUndefined();
  });

  it('does not mistake consequences of a loss for its cause', () => {
    outage.failed('commands', RESET);
    outage.failed('commands', new Error('Connection is closed.'));

    expect(outage.cause).toBe(RESET);
  });

  it('is silent before it is started, and once it is closed', async () => {
    outage.close();
    outage.failed('commands', REFUSED);
    await pass(5000);
    expect(lines).toEqual([]);
    expect(outage.cause).toBe(REFUSED);

    outage.start();
    outage.failed('commands');
    outage.close();
    await pass(5000);
    expect(lines).toEqual([]);
  });
});
