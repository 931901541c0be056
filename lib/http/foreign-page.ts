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

/**
 * Detects a request that a page of another site made a browser send. Browsers show that in `Sec-Fetch-Site`, but only to https and
 * localhost; elsewhere the page has to come from the host that it asks.
 *
 * @param host host that the browser asked, as a framework derives it from the proxies that it trusts. @defaultValue the one of the request
 * @returns why the request is refused; `undefined` if no such page sent it
 */
export function foreignPage({ headers }: IncomingMessage, host = headers.host ?? ''): string | undefined {
  const { 'sec-fetch-site': site, origin } = headers;
  if (site === 'same-origin' || site === 'none') return undefined;
  if (site !== undefined) return 'A page of another site has made a browser send this, so it was refused.';
  if (origin === undefined || isAt(origin, host)) return undefined;
  return (
    `A page of ${origin} has made a browser send this to '${host}', so it was refused. If both are the same server, the proxy before it ` +
    'has to pass the Host header on.'
  );
}

/** A proxy may name the port that a browser leaves out. */
function isAt(origin: string, host: string): boolean {
  if (!URL.canParse(origin)) return false;
  const page = new URL(origin);
  const asked = `${page.protocol}//${host}`;
  return URL.canParse(asked) && new URL(asked).host === page.host;
}
