import { errorText } from '../../../log.js';
import type { DoctorFinding } from '../../../store/inspection.interface.js';
import type { InspectedNode, InspectedServer } from './inspected-server.js';

/** Finding of a check, before the name of the check is added. `'unknown'` becomes a warning; the boot leaves it out. */
export interface Judgement {
  readonly level: DoctorFinding['level'] | 'unknown';
  readonly message: string;
  readonly advice: string;
}

/** A check of the whole target of a connection. */
export type ServerCheck = (server: InspectedServer) => Promise<readonly Judgement[]>;

/** Most servers that are named if all of them are fine. */
const MAX_NAMED = 3;

export function ok(message: string): Judgement {
  return { level: 'ok', message, advice: '' };
}

export function warning(message: string, advice: string): Judgement {
  return { level: 'warning', message, advice };
}

export function error(message: string, advice: string): Judgement {
  return { level: 'error', message, advice };
}

/** Returns the judgement of a check that could not be made. */
export function unknown(address: string, reason: unknown): Judgement {
  return {
    level: 'unknown',
    message: `Redis at ${address}: unknown, since it does not tell (${errorText(reason)}).`,
    advice: 'Allow the user of Redis what was refused, or look it up where this Redis is managed.',
  };
}

/**
 * Makes a check of each server by itself. Those that are not fine are reported one by one, since each has its own figures.
 *
 * @param judge can reject; then nothing is known of that server
 */
export function eachNode(judge: (node: InspectedNode, server: InspectedServer) => Promise<Judgement>): ServerCheck {
  return async (server) => {
    const judgements = await Promise.all(
      server.nodes.map((node) => judge(node, server).catch((reason: unknown) => unknown(node.address, reason))),
    );
    const conspicuous = judgements.filter(({ level }) => level !== 'ok');
    return conspicuous.length > 0 ? conspicuous : [allFine(judgements)];
  };
}

function allFine(judgements: readonly Judgement[]): Judgement {
  const named = judgements.slice(0, MAX_NAMED).map(({ message }) => message);
  const others = judgements.length - named.length;
  return ok(others > 0 ? `${named.join(' ')} The other ${others} are fine too.` : named.join(' '));
}

/** Formats a size for people, such as `1.5 MiB`. */
export function size(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), units.length - 1);
  return `${power === 0 ? bytes : (bytes / 1024 ** power).toFixed(1)} ${units[power]}`;
}

export function percent(share: number): string {
  return `${Math.floor(share * 100)} %`;
}
