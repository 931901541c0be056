import dns from 'node:dns';
import type { LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Address of Azure's virtual machine metadata and agents, which lies in a public range. */
const METADATA_OF_AZURE = '168.63.129.16';

/** All IPv6 addresses that IANA has assigned to the public internet; others serve other purposes, or none yet (RFC 4291, 2.4). */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3');

/** Addresses through which an IPv6-only network reaches IPv4 (RFC 6052, 2.1): their embedded IPv4 address counts. */
const TRANSLATED = ipaddr.parseCIDR('64:ff9b::/96');

/** Whether an address belongs to the public internet, by IANA's registries of special-purpose addresses. */
export function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.kind() === 'ipv6') {
    if (parsed.match(TRANSLATED)) return isPublic(new ipaddr.IPv4(parsed.toByteArray().slice(12)).toString());
    if (!parsed.match(GLOBAL_UNICAST)) return false;
  }
  return parsed.range() === 'unicast' && parsed.toString() !== METADATA_OF_AZURE;
}

/**
 * Looks a name up for a connection, and fails if one of its addresses is not public. The checked address is the one connected to, so
 * changing the DNS entry a moment later does not help an attacker.
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
