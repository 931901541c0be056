import { type LookupAddress, lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { isPublic } from './public-addresses.js';

/** A name leads to an address that nothing may be pushed to. */
export class PrivateAddressError extends Error {
  constructor(name: string, address: string) {
    super(`${name} leads to ${address}, which is not an address of the public internet`);
  }
}

type Answer = (error: NodeJS.ErrnoException | null, addresses: string | LookupAddress[], family?: number) => void;

/**
 * Finds the addresses of a host as Node does, for whoever is about to connect to one of them. So a name that leads elsewhere a moment later
 * does not help: what was checked is what is connected to.
 *
 * @returns an error instead if one of the addresses is not public
 */
export const publicLookup: LookupFunction = (name, options, answer: Answer) => {
  lookup(name, { ...options, all: true }, (error, addresses) => {
    if (error) return answer(error, []);
    const refused = addresses.find(({ address }) => !isPublic(address));
    if (refused) return answer(new PrivateAddressError(name, refused.address), []);
    if (options.all) return answer(null, addresses);
    const [first] = addresses as [LookupAddress];
    answer(null, first.address, first.family);
  });
};
