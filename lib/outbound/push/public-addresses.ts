import dns from 'node:dns';
import type { LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Metadata and agents of Azure's virtual machines, which it has put into a public range. */
const METADATA_OF_AZURE = '168.63.129.16';

/** Whether an address belongs to the public internet, by IANA's registries of special-purpose addresses. */
export function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  const range = parsed.range();
  // A network of IPv6 alone reaches IPv4 by such addresses (RFC 6052): what counts is where they lead.
  if (range === 'rfc6052') return isPublic(new ipaddr.IPv4(parsed.toByteArray().slice(12)).toString());
  return range === 'unicast' && parsed.toString() !== METADATA_OF_AZURE;
}

/**
 * Looks a name up for a connection, and fails if one of its addresses is not public. What is checked is what is connected to, so it
 * does not help to let the name lead elsewhere a moment later.
 */
export const publicLookup: LookupFunction = (name, options, answer) => {
  dns.lookup(name, { ...options, all: true }, (error, found) => {
    const hidden = error ? undefined : found.find(({ address }) => !isPublic(address));
    if (hidden)
      answer(new Error(`${name} leads to ${hidden.address}, which is not an address of the public internet`), []);
    else if (error || options.all) answer(error, found);
    else answer(null, found[0]?.address ?? '', found[0]?.family);
  });
};
