import type { IncomingMessage } from 'node:http';
import { isIPv4 } from 'node:net';

/** Whether a host is this machine and cannot be reached from another one. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  return name === 'localhost' || name === '::1' || (isIPv4(name) && name.startsWith('127.'));
}

/** Whether a request names this machine. Another site may have its own name resolved to this machine (DNS rebinding); a browser then sends that name. */
export function isForLoopback({ headers: { host = '' } }: IncomingMessage): boolean {
  return URL.canParse(`http://${host}`) && isLoopback(new URL(`http://${host}`).hostname);
}
