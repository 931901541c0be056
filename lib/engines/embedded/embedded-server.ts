import type { EventEntry } from '../../store/records/event-log.interface.js';
import { fromBytes } from './bytes.js';
import type { DataClock } from './data-clock.js';
import { EmbeddedData } from './data/embedded-data.js';
import { Listeners } from './listeners.js';
import type { LoopTurns } from './loop-turns.js';

/** What stands in the place of a Redis server: the data, and who listens to what. */
export class EmbeddedServer {
  readonly data: EmbeddedData;
  readonly clock: DataClock;
  /** `undefined`: its calls are answered at once, however many there are. */
  readonly turns: LoopTurns | undefined;
  /** By channel. */
  readonly messages = new Listeners<string>();
  /** By prefix. */
  readonly events = new Listeners<EventEntry>();

  constructor(clock: DataClock, turns?: LoopTurns) {
    this.clock = clock;
    this.turns = turns;
    this.data = new EmbeddedData(
      () => clock.now(),
      (channel, message) => this.messages.tell(fromBytes(channel), fromBytes(message)),
    );
  }
}
