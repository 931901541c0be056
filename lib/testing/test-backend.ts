import { MemoryBroker } from '../broker/memory/memory.broker.js';
import { parseDuration } from '../common/duration.js';
import { describe } from '../common/describe.js';
import { ManualClock } from '../common/manual-clock.js';
import { assertOptions } from '../common/validate.js';
import { InvalidArgumentError } from '../errors/invalid-argument.error.js';
import { Activity } from './activity.js';
import { Faults } from './faults.js';
import type { HarnessOptions } from './harness-options.interface.js';
import { Outages } from './outages.js';
import { PublishedMessages } from './published-messages.js';
import { TestingBroker } from './testing.broker.js';
import { VirtualTime } from './virtual-time.js';

const DEFAULT_PATIENCE = 250;

/** What stands in the place of Redis and of the clock. */
export class TestBackend {
  readonly clock: ManualClock;
  readonly memory: MemoryBroker;
  readonly time: VirtualTime;
  readonly faults = new Faults();
  readonly outages: Outages;
  readonly published = new PublishedMessages();
  readonly broker: TestingBroker;

  /** @throws InvalidArgumentError */
  constructor(options: HarnessOptions) {
    assertOptions('The harness options', options, ['now', 'patience', 'onTick']);
    const { now = Date.now(), patience = DEFAULT_PATIENCE, onTick = () => {} } = options;
    const begin = toEpoch('now', now);
    const activity = new Activity(parseDuration('patience', patience));
    this.clock = new ManualClock(begin, (time) => onTick(new Date(time)));
    this.memory = new MemoryBroker(this.clock);
    this.time = new VirtualTime(this.clock, activity);
    this.outages = new Outages(this.clock);
    const { memory, faults, outages, published } = this;
    this.broker = new TestingBroker({ memory, activity, faults, outages, published });
    onTick(new Date(begin));
  }
}

/** @throws InvalidArgumentError where it is no point in time */
export function toEpoch(name: string, value: unknown): number {
  const time = value instanceof Date ? value.getTime() : value;
  if (typeof time !== 'number' || !Number.isFinite(time) || time < 0) {
    throw new InvalidArgumentError(`${name} must be a valid Date or epoch milliseconds. Given: ${describe(value)}.`);
  }
  return time;
}
