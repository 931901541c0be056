import { BlockList, isIPv4, isIPv6 } from 'node:net';

/** What of IPv4 is no address of the public internet: IANA's special-purpose registry. */
const NOT_PUBLIC_4 = [
  '0.0.0.0/8', // this network; to most systems, this host
  '10.0.0.0/8', // private
  '100.64.0.0/10', // between a provider and its customers (CGNAT); metadata of some clouds
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // metadata and agents of Azure, in a public range
  '169.254.0.0/16', // link-local; metadata of most clouds
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments; metadata of some clouds
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, and broadcast
];

/** All of IPv6 that is public. Loopback, mapped, link-local, unique local, site-local and multicast addresses are outside. */
const PUBLIC_6 = ['2000::/3'];

/** What of that is not. */
const NOT_PUBLIC_6 = [
  '2001::/23', // protocol assignments, among them Teredo, which leads to any IPv4 address
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4, which leads to any IPv4 address
  '3fff::/20', // documentation
];

/** What a translator turns into an IPv4 address: that is what counts. */
const TRANSLATED = ['64:ff9b::/96'];

const notPublic4 = blockListOf('ipv4', NOT_PUBLIC_4);
const public6 = blockListOf('ipv6', PUBLIC_6);
const notPublic6 = blockListOf('ipv6', NOT_PUBLIC_6);
const translated = blockListOf('ipv6', TRANSLATED);

/** Whether an IP address is one of the public internet. What is no address is not. */
export function isPublic(address: string): boolean {
  if (isIPv4(address)) return !notPublic4.check(address, 'ipv4');
  // A zone, as in `fe80::1%eth0`, has a meaning on this host alone.
  if (!isIPv6(address) || address.includes('%')) return false;
  if (translated.check(address, 'ipv6')) return isPublic(lastFour(address));
  return public6.check(address, 'ipv6') && !notPublic6.check(address, 'ipv6');
}

/** The IPv4 address in the last 32 bits. */
function lastFour(address: string): string {
  // A URL has the one form without dots.
  const groups = new URL(`http://[${address}]`).hostname.slice(1, -1).split(':');
  const [high, low] = groups.slice(-2).map((group) => parseInt(group || '0', 16)) as [number, number];
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

function blockListOf(family: 'ipv4' | 'ipv6', subnets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [network, prefix] = subnet.split('/') as [string, string];
    list.addSubnet(network, Number(prefix), family);
  }
  return list;
}
