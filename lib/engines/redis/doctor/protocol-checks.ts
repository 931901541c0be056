import { type ServerCheck, eachNode, error, ok, unknown, warning } from './judgement.js';
import { ROLES, neededOf } from '../scripts/rights.js';
import { NotTold } from '../connection/redis-errors.js';

/** Offset of a clock above which it is worth a warning, in milliseconds. */
const MAX_CLOCK_OFFSET = 1000;

/** The same for the clocks of two masters: messages in the partitions of the slower one are late by as much. */
const MAX_CLOCK_DIFFERENCE = 100;

const RIGHTS_ADVICE =
  'Allow the user what is refused, as docs/internals/redis-keys.md says; if the server does not know a command, use another one.';

export const rights: ServerCheck = async ({ address, role, refusals }) => {
  try {
    const refused = await refusals();
    const needed = neededOf(refused, role);
    if (needed.length > 0) {
      return [error(`Redis at ${address} refuses what is needed: ${needed.join('; ')}.`, RIGHTS_ADVICE)];
    }
    // An operator may check with the user of an application, to see whether that one boots.
    const others = role === 'operator' ? ROLES.filter((other) => neededOf(refused, other).length > 0) : [];
    if (others.length === 0) return [ok(`Redis at ${address} runs every command that is needed for this user.`)];
    return [
      warning(
        `Redis at ${address} runs every command that an operator needs for this user. A ${others.join(' and a ')} would be ` +
          `refused ${refused.join('; ')}.`,
        'This is as it should be, unless an application uses this user: it would not boot.',
      ),
    ];
  } catch (reason) {
    if (!(reason instanceof NotTold) || !reason.refused) throw reason;
    return [error(`Redis at ${address} does not run our scripts: ${reason.message}.`, RIGHTS_ADVICE)];
  }
};

export const scriptFlags = eachNode(async (node) => {
  const { scriptFlags: known } = await node.traits();
  const how = known ? 'knows script flags' : 'knows no script flags, as Redis 6.2, and takes what stands in for them';
  return ok(`Redis at ${node.address} ${how}: if it is full, handling goes on and frees memory.`);
});

export const scriptTime = eachNode(async (node) => {
  try {
    await node.timeInScript();
    return ok(`Redis at ${node.address} tells the time within scripts.`);
  } catch (reason) {
    if (!(reason instanceof NotTold) || !reason.refused) throw reason;
    return error(
      `Redis at ${node.address} does not tell the time within scripts, by which messages become due: ${reason.message}.`,
      'Allow the user TIME and EVAL. A service that refuses TIME within scripts cannot be used.',
    );
  }
});

export const signals: ServerCheck = async ({ address, isSharded, echo }) => {
  const kind = isSharded ? 'sharded pub/sub' : 'plain pub/sub';
  try {
    return [ok(`Redis at ${address} sends signals (${kind}): one came back after ${(await echo()).toFixed(1)} ms.`)];
  } catch (reason) {
    if (!(reason instanceof NotTold)) throw reason;
    return [
      error(
        `Redis at ${address} does not bring signals back (${kind}), so messages may be late by seconds: ${reason.message}.`,
        'Allow the user the channels of the prefix and the commands of pub/sub, and look at proxies in between.',
      ),
    ];
  }
};

const eachClock = eachNode(async (node) => {
  const offset = await node.clockOffset();
  if (Math.abs(offset) <= MAX_CLOCK_OFFSET) {
    return ok(`The clock of Redis at ${node.address} differs by ${Math.round(offset)} ms from that of this machine.`);
  }
  const direction = offset > 0 ? 'behind' : 'ahead of';
  return warning(
    `The clock of this machine is ${(Math.abs(offset) / 1000).toFixed(1)} s ${direction} that of Redis at ${node.address}. ` +
      `Delays are right all the same, but a deliverAt that is computed here is off by as much.`,
    'Synchronize both clocks (NTP).',
  );
});

export const clock: ServerCheck = async (server) => [...(await eachClock(server)), ...(await clocksOfMasters(server))];

const clocksOfMasters: ServerCheck = async ({ address, nodes }) => {
  if (nodes.length < 2) return [];
  try {
    const offsets = await Promise.all(nodes.map((node) => node.clockOffset()));
    const difference = Math.max(...offsets) - Math.min(...offsets);
    if (difference <= MAX_CLOCK_DIFFERENCE) return [];
    return [
      warning(
        `The clocks of the masters of ${address} differ by up to ${Math.round(difference)} ms. The messages of a partition ` +
          `become due by the clock of its master.`,
        'Synchronize the clocks of all nodes (NTP).',
      ),
    ];
  } catch (reason) {
    return [unknown(address, reason)];
  }
};
