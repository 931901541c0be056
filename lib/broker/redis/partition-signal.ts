import type { PartitionSignal } from '../broker.interface.js';

/** Reads what the scripts publish: `due <ms>` or `cancelled <token> <stored id>`. Anything else is not ours. */
export function decodeSignal(message: string): PartitionSignal | undefined {
  const [kind, number] = message.split(' ', 2);
  const value = Number(number);
  if (kind === 'due' && Number.isFinite(value)) return { kind, at: value };
  if (kind === 'cancelled' && Number.isFinite(value)) {
    return { kind, token: value, storedId: message.slice(kind.length + (number?.length ?? 0) + 2) };
  }
  return undefined;
}
