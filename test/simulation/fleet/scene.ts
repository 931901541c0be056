import type { Copy } from '../product/evaluate.js';
import type { TopicOptions } from '../../../lib/composition/delay-queue-options.interface.js';
import type { Server } from '../redis/server.js';
import type { Rules } from '../rules/rules.js';
import type { Accidents } from '../world/accidents.js';
import type { Faults } from '../world/faults.js';
import type { World } from '../world/world.js';
import type { Process } from './process.js';

/** What all of a simulation share. */
export interface Scene {
  readonly world: World;
  readonly server: Server;
  readonly copy: Copy;
  readonly faults: Faults;
  readonly accidents: Accidents;
  readonly rules: Rules;
  /** Those that have started, some of which are gone. */
  readonly processes: Set<Process>;
  /** The topics that are published to. */
  readonly topics: readonly string[];
  /** What deploys say of topics by now, in place of what {@link TOPICS} says. */
  deployed: Readonly<Record<string, TopicOptions>>;
  /** Whether nothing more is published, and nothing goes wrong any more. */
  isEnding: boolean;
  /** Whether the gateways are gone, and nobody asks them any more. */
  isClosed: boolean;
}
