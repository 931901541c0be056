import { failureMutations } from './failures.mjs';
import { importMutations } from './imports.mjs';
import { limitMutations } from './limits.mjs';
import { orderMutations } from './order.mjs';
import { protocolMutations } from './protocol.mjs';
import { scheduleMutations } from './schedules.mjs';

/**
 * Guards of the protocol and of the import from BullMQ, how each is switched off, and what has to notice. `file` is as seen from lib; `scenario` is one of
 * test/fleet/faults, and `spec` a test file, for what no scenario can see.
 */
export const mutations = [
  ...protocolMutations,
  ...orderMutations,
  ...scheduleMutations,
  ...limitMutations,
  ...failureMutations,
  ...importMutations,
];
