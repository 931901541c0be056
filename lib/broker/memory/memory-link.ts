import type { BrokerLink } from '../broker-link.interface.js';

/** Nothing lies between a process and its own memory. */
export const MEMORY_LINK: BrokerLink = {
  isUp: true,
  ping: async () => {},
  listen: async () => {},
  rebuild: () => {},
};
