import type { EventEntry } from '../broker.interface.js';
import type { Clock } from '../../time/clock.js';
import { fromBytes } from './bytes.js';
import { EmbeddedData } from './data/embedded-data.js';
import { Listeners } from './listeners.js';

/** What stands in the place of a Redis server: the data, and who listens to what. */
export class EmbeddedServer {
  readonly data: EmbeddedData;
  /** By channel. */
  readonly messages = new Listeners<string>();
  /** By prefix. */
  readonly events = new Listeners<EventEntry>();

  constructor(clock: Clock) {
    this.data = new EmbeddedData(
      () => clock.now(),
      (channel, message) => this.messages.tell(fromBytes(channel), fromBytes(message)),
    );
  }
}
