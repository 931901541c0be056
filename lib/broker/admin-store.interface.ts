import type { CallId, Partition, RescheduleResult, StoredMessage } from './broker.interface.js';

/** `due`: of the scheduled ones, those whose time has come. */
export type PeekedState = StoredMessage['state'] | 'due';

/** A place in the order of a state; there need not be a message any more. */
export interface Position {
  /** As {@link StoredMessage.at}. */
  readonly at: number;
  readonly storedId: string;
}

export interface PeekRequest {
  readonly state: PeekedState;
  /** Goes on behind this place. */
  readonly after?: Position | undefined;
  /** Most messages wanted, 1 to `MAX_BATCH`. */
  readonly limit: number;
  /** Stops early once envelopes and failures add up to this, at most 1 MiB; one message comes in any case. */
  readonly maxBytes: number;
}

export interface PeekedMessages {
  /** In order of {@link StoredMessage.at}, equal ones in order of the bytes of their stored ids. */
  readonly messages: readonly StoredMessage[];
  /** Where to go on; `undefined` where these were the last. */
  readonly next: Position | undefined;
}

export interface EnvelopeEdit {
  readonly storedId: string;
  /** What is to be replaced; where something else is stored by now, nothing changes. */
  readonly expected: string;
  readonly envelope: string;
}

/** `changed`: it waits, and has another envelope than was expected. */
export type EditResult = 'edited' | 'changed' | 'not-waiting';

export interface ClearResult {
  /** How many messages were removed. */
  readonly removed: number;
  /** Whether there may be more. */
  readonly more: boolean;
}

/**
 * What operators need of the place where messages are kept. Every method takes a bounded amount of work and may be repeated
 * without harm.
 */
export interface AdminStore {
  /** The topics that were ever used, in the order of their bytes. */
  topics(): Promise<string[]>;
  peek(partition: Partition, request: PeekRequest): Promise<PeekedMessages>;
  /** Makes a message that waits due now; one that is due already keeps its time. */
  runNow(partition: Partition, call: CallId, storedId: string): Promise<RescheduleResult>;
  edit(partition: Partition, call: CallId, edit: EnvelopeEdit): Promise<EditResult>;
  /** Removes some of the messages that wait (they count as cancelled) or are dead, the first ones first. */
  clear(partition: Partition, call: CallId, state: 'scheduled' | 'dead'): Promise<ClearResult>;
  /** From the next claim on nothing is handed out; what is in flight goes on. Lasts until {@link resume}. */
  pause(partition: Partition): Promise<void>;
  /** Ends a pause, and signals the owner. */
  resume(partition: Partition): Promise<void>;
}
