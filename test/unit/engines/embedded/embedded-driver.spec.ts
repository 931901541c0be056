import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { DataClock, EmbeddedServer, LoopTurns } from '../../../../lib/engines/embedded/embedded-server.js';
import { EmbeddedBroker } from '../../../../lib/engines/embedded/embedded.broker.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { DueTimer } from '../../../../lib/time/due-timer.js';

const PARTITION = { topic: 'jobs', index: 0 };

/** Far more calls than one turn of the event loop lasts for. */
const MANY = 100_000;

let clock = new ManualClock();
beforeEach(() => void (clock = new ManualClock()));
afterEach(() => void vi.useRealTimers());

function open(turns?: LoopTurns, machine?: () => number): EmbeddedBroker {
  return new EmbeddedBroker(clock, { server: new EmbeddedServer(new DataClock(clock, machine), turns) });
}

it.each<[string, (broker: EmbeddedBroker) => Promise<unknown>]>([
  ['a script', async (broker) => broker.messages.get(PARTITION, 'a')],
  ['a script of several places', async (broker) => broker.messages.countDue(PARTITION, [1])],
  ['a command', async (broker) => broker.fleet.sessions()],
  ['a signal', async (broker) => broker.fleet.tell({ signal: { kind: 'changed' } })],
])('lets the event loop go on while one call follows another: %s', async (_, call) => {
  const broker = open(new LoopTurns());
  const turn = { isOver: false };
  setImmediate(() => (turn.isOver = true));
  let calls = 0;
  for (; calls < MANY && !turn.isOver; calls++) await call(broker);
  expect(calls).toBeLessThan(MANY);
});

it('answers while timers are faked', async () => {
  const broker = open(new LoopTurns());
  vi.useFakeTimers();
  for (let n = 0; n < 5000; n++) await broker.messages.get(PARTITION, 'a');
  expect(await broker.messages.get(PARTITION, 'a')).toBeUndefined();
});

it('needs no turn of the event loop on a clock that a test moves', async () => {
  const broker = open();
  let turns = 0;
  setImmediate(() => turns++);
  for (let n = 0; n < 5000; n++) await broker.messages.get(PARTITION, 'a');
  expect(turns).toBe(0);
});

it('goes by the clock of the machine once that was set, and has timers look again', async () => {
  let offset = 0;
  const broker = open(undefined, () => Math.floor(clock.now() + offset));
  let fired = 0;
  const timer = new DueTimer(
    clock,
    { now: () => broker.now(), onStep: (listener) => broker.onClockStep(listener) },
    () => {
      fired = broker.now();
    },
  );
  const due = broker.now() + 1_800_000;
  timer.arm(due);
  await clock.advance(1000);
  offset = 3_600_000;
  await broker.messages.get(PARTITION, 'a');
  expect(fired).toBeGreaterThanOrEqual(due);
  expect(broker.now()).toBe(clock.now() + offset);
  expect(broker.driver.toLocal('', broker.now())).toBe(clock.now());

  offset = -3_600_000;
  expect(broker.now()).toBe(clock.now() + offset);
});
