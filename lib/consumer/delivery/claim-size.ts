import { MAX_BATCH } from '../../store/partition.js';
import { followed } from '../admission/expected-time.js';

/** How many messages a claim has slots for if it is not known how much is due: few, to leave some for other partitions. */
const FIRST_CLAIM = 16;

/** The share of the free slots that it may have beyond that, if others have brought more. */
const SHARE_OF_FREE = 4;

/** How many slots a partition should have for its next claim, by what the claims before have brought. */
export class ClaimSize {
  readonly #batch: number;
  /** The last claim took all it asked for, so there is more. */
  #isBacklog = false;
  /** How many messages claims have brought in a row of which each left some. */
  #inRow = 0;
  /** How many that are in general, of those that bring any. */
  #usual = 0;

  /** @param batch messages for a slot */
  constructor(batch: number) {
    this.#batch = batch;
  }

  /** A claim of at most so many has brought so many. */
  claimed(count: number, max: number): void {
    this.#inRow = count + (this.#isBacklog ? this.#inRow : 0);
    this.#isBacklog = count > 0 && count >= max;
    if (count > 0) this.#usual = followed(this.#usual, Math.min(this.#inRow, MAX_BATCH));
  }

  /** @param free how many slots are */
  slots(free: number): number {
    if (this.#isBacklog) return Math.floor(MAX_BATCH / this.#batch);
    const usual = Math.min(Math.ceil(this.#usual / this.#batch), Math.floor(free / SHARE_OF_FREE));
    return Math.max(Math.ceil(FIRST_CLAIM / this.#batch), usual);
  }
}
