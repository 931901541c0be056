import type { ForwardOptions } from './forward-options.interface.js';

/** Where messages are forwarded to, checked and with all defaults filled in. */
export type ForwardTarget = Readonly<Required<ForwardOptions>>;

/** What is said of it in logs and errors. */
export function nameOf({ client }: Pick<ForwardTarget, 'client'>): string {
  return `forward to ${clientName(client)}`;
}

export function clientName(client: ForwardTarget['client']): string {
  if (typeof client === 'string') return client;
  if (typeof client === 'symbol') return client.description ?? 'a client';
  return typeof client === 'function' ? client.name : client.constructor.name;
}
