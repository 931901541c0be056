import type { Owner } from '../../../lib/store/fleet/owner.js';
import type { Partition } from '../../../lib/store/partition.js';
import { EmbeddedBroker } from '../../../lib/engines/embedded/embedded.broker.js';
import { type Around, type BrokerCall, wrapBroker } from '../../../lib/store/wrap-broker.js';
import type { ConsumerContext } from '../../../lib/consumer/consumer-context.js';
import { BrokerUnavailableError } from '../../../lib/errors/operation.errors.js';
import type { BackgroundError } from '../../../lib/events/queue-events.interface.js';
import type { FleetMember } from '../../../lib/fleet/fleet-member.interface.js';
import type { Session } from '../../../lib/fleet/session.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { testContext, testSession } from './handling.js';

/** Processes of a fleet that share a broker in memory, in virtual time. */
export class FleetBed {
  readonly clock = new ManualClock(1_000_000);
  readonly broker = new EmbeddedBroker(this.clock);

  process(id: string, topics: readonly string[] = ['jobs']): TestProcess {
    return new TestProcess(this, id, topics);
  }
}

/** One of them: the test sees what it asks of the broker and what it logs, and says what its calls are answered. */
export class TestProcess implements FleetMember {
  readonly calls: BrokerCall[] = [];
  readonly lines: string[] = [];
  readonly errors: BackgroundError[] = [];
  readonly rebuilt: string[] = [];
  /** What others wanted. */
  readonly requests: [index: number, owner: Owner][] = [];
  readonly context: ConsumerContext;
  readonly session: Session;
  /** What others have released for it. */
  readonly inherited: Partition[] = [];
  /** The topics whose permits have moved, and those whose limits may have changed. */
  readonly moves: string[] = [];
  readonly changes: (string | undefined)[] = [];
  /** What became of deliveries that it has handed out. */
  readonly leases: [topic: string, index: number, token: string, lease: number][] = [];
  pings = 0;
  shares = 0;
  reports = 0;
  restores = 0;
  looks = 0;
  verifications = 0;
  hearsSignals = true;
  /** What the broker says of signals that come from other servers. */
  losesSignals = false;
  /** Answers its calls. */
  around: Around = async ({ run }) => run();
  /** What the broker tells when signals begin to come. */
  onListening: (() => void) | undefined;

  constructor({ broker, clock }: FleetBed, id: string, topics: readonly string[]) {
    const losesSignals = (): boolean => this.losesSignals;
    const link = {
      ...broker.link,
      get losesSignals() {
        return losesSignals();
      },
      ping: async () => void this.pings++,
      rebuild: (connection: string) => void this.rebuilt.push(connection),
    };
    const watchSession: EmbeddedBroker['watchSession'] = (session, listener, onListening?: () => void) => {
      this.onListening = onListening;
      return broker.watchSession(session, (signal) => {
        if (this.hearsSignals) listener(signal);
      });
    };
    const around: Around = async (call) => {
      this.calls.push(call);
      return this.around(call);
    };
    this.context = testContext({
      broker: wrapBroker(broker, around, { link, watchSession }),
      clock,
      session: id,
      log: {
        log: () => {},
        warn: (line) => this.lines.push(`warn ${line}`),
        error: (line) => this.lines.push(`error ${line}`),
      },
      events: {
        wants: () => true,
        emit: (kind, event) => {
          if (kind === 'errors') this.errors.push(event as BackgroundError);
        },
      },
    });
    this.session = testSession(this.context, topics, this);
  }

  /** The operations that it has called so far. */
  get operations(): string[] {
    return this.calls.map(({ operation }) => operation);
  }

  /** How often it has called an operation. */
  count(operation: BrokerCall['operation']): number {
    return this.operations.filter((one) => one === operation).length;
  }

  /** The signals that it has sent, such as `echo`. */
  get told(): string[] {
    return this.calls.flatMap((call) => (call.operation === 'tell' ? [call.args[0].signal.kind] : []));
  }

  share(): void {
    this.shares++;
  }

  report(): void {
    this.reports++;
  }

  released(partitions: readonly Partition[]): void {
    this.inherited.push(...partitions);
  }

  lookAgain(): void {
    this.looks++;
  }

  restore(): void {
    this.restores++;
  }

  verify(): void {
    this.verifications++;
  }

  wanted({ index }: Partition, owner: Owner): void {
    this.requests.push([index, owner]);
  }

  leaseChanged({ topic, index }: Partition, token: string, lease: number): void {
    this.leases.push([topic, index, token, lease]);
  }

  permitsMoved(topic: string): void {
    this.moves.push(topic);
  }

  limitsChanged(topic?: string): void {
    this.changes.push(topic);
  }
}

/** A process that has joined, alone. */
export async function joined() {
  const bed = new FleetBed();
  const me = bed.process('me');
  await me.session.start();
  return { bed, me };
}

/** Two processes that have joined, and know of each other. */
export async function two() {
  const bed = new FleetBed();
  const [a, b] = [bed.process('a'), bed.process('b')];
  await a.session.start();
  await b.session.start();
  await bed.clock.advance(0);
  return { bed, a, b };
}

/** Calls of which those of one operation fail. */
export function failing(operation: BrokerCall['operation']): Around {
  return async (call) => {
    if (call.operation === operation) throw new BrokerUnavailableError('gone');
    return call.run();
  };
}
