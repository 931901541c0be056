import type { Broker } from '../../../lib/store/broker.interface.js';
import type { ClaimRequest, ClaimResult } from '../../../lib/store/deliveries/claim.js';
import { tokenOf } from '../../../lib/store/deliveries/receipt.js';
import { type Owner, ownerOf } from '../../../lib/store/fleet/owner.js';
import { numberedToken } from '../claim-record.js';
import { MAX_BATCH, type Partition } from '../../../lib/store/partition.js';

const EPOCH = '9f3ac07be41d2258';

/** For how long a claimant's deliveries belong to it; long enough not to end while a test runs. */
const LEASE = 60_000;

export type ClaimFields = Partial<ClaimRequest>;
export type ServedClaim = Exclude<ClaimResult, { status: 'not-owner' }>;

/** The owner of a partition, which counts its claims and its deliveries. */
export class Claimant {
  readonly owner: Owner = ownerOf(EPOCH, 'owner');
  readonly #broker: Broker;
  readonly #partition: Partition;
  /** What all its claims ask for. */
  readonly #always: ClaimFields;
  /** Tokens that it was told, by those with the numbers of their deliveries. */
  readonly #tokens = new Map<string, string>();
  #latest: ClaimRequest = { owner: this.owner, sequence: 0, delivered: 0, max: MAX_BATCH, lease: LEASE };
  #delivered = 0;

  constructor(broker: Broker, partition: Partition, always: ClaimFields = {}) {
    this.#broker = broker;
    this.#partition = partition;
    this.#always = always;
  }

  /** Becomes the owner of the partition, which nobody owned before. */
  async acquire(): Promise<void> {
    const result = await this.#broker.fleet.acquire(this.#partition, this.owner, undefined);
    if (!result.acquired) throw new Error(`${result.owner} owns the partition`);
  }

  /** The token of its delivery of this number. */
  token(number: number): string {
    const token = tokenOf(EPOCH, number);
    return this.#tokens.get(token) ?? token;
  }

  /** What it asks for in its next claim. */
  next(fields: ClaimFields = {}): ClaimRequest {
    const sequence = this.#latest.sequence + 1;
    return {
      owner: this.owner,
      sequence,
      delivered: this.#delivered,
      max: MAX_BATCH,
      lease: LEASE,
      ...this.#always,
      ...fields,
    };
  }

  async claim(fields: ClaimFields = {}): Promise<ServedClaim> {
    this.#latest = this.next(fields);
    return this.repeat();
  }

  /** Sends the latest claim again, as if its reply had been lost. */
  async repeat(fields: ClaimFields = {}): Promise<ServedClaim> {
    const result = await this.#broker.deliveries.claim(this.#partition, { ...this.#latest, ...fields });
    if (result.status === 'not-owner') throw new Error(`${this.owner} does not own the partition`);
    this.#delivered = result.delivered;
    for (const { token } of result.messages) this.#tokens.set(numberedToken(token), token);
    return result;
  }
}
