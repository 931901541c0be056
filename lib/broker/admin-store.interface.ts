import type { Partition, StoredMessage } from './broker.interface.js';

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

/**
 * What operators need of the place where messages are kept. Every method takes a bounded amount of work and may be repeated
 * without harm.
 */
export interface AdminStore {
  /** The topics that were ever used, in the order of their bytes. */
  topics(): Promise<string[]>;
  peek(partition: Partition, request: PeekRequest): Promise<PeekedMessages>;
  /** From the next claim on nothing is handed out; what is in flight goes on. Lasts until {@link resume}. */
  pause(partition: Partition): Promise<void>;
  /** Ends a pause, and signals the owner. */
  resume(partition: Partition): Promise<void>;
}
