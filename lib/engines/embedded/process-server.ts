import { VERSION } from '../../version.js';
import type { EmbeddedServer } from './embedded-server.js';

const SERVER = Symbol.for(`nestjs-delay-queue.embedded ${VERSION}`);

/** What this process has: one for all copies of this version. */
const shared = globalThis as { [SERVER]?: EmbeddedServer };

/** The server that all connections of this process share. */
export function processServer(create: () => EmbeddedServer): EmbeddedServer {
  return (shared[SERVER] ??= create());
}

/** Whether a connection of this process was made on it. */
export function hasProcessServer(): boolean {
  return shared[SERVER] !== undefined;
}
