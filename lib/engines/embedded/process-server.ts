import { VERSION } from '../../version.js';
import type { EmbeddedServer } from './embedded-server.js';

const SERVER = Symbol.for(`nestjs-delay-queue.embedded ${VERSION}`);

/** Server of this process: one for all copies of this version. */
const shared = globalThis as { [SERVER]?: EmbeddedServer };

/** Returns the server that all connections of this process share. */
export function processServer(create: () => EmbeddedServer): EmbeddedServer {
  return (shared[SERVER] ??= create());
}

/** Whether this process has made a connection to it. */
export function hasProcessServer(): boolean {
  return shared[SERVER] !== undefined;
}
