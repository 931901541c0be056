import { describe } from '../checks/describe.js';
import { assertInteger, assertOptions, isPlainObject } from '../checks/validate.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import type { FleetEventsOptions } from './delay-queue-options.interface.js';
import type { ResolvedOptions } from './resolved-options.interface.js';

const OPTIONS = ['maxLength'] as const;

/** Some 6 MB in Redis. */
const DEFAULT_LENGTH = 100_000;

/** @throws InvalidArgumentError */
export function resolveFleetEvents(fleetEvents: boolean | FleetEventsOptions): ResolvedOptions['fleetEvents'] {
  if (fleetEvents === false) return undefined;
  if (fleetEvents === true) return { maxLength: DEFAULT_LENGTH };
  if (!isPlainObject(fleetEvents)) {
    throw new InvalidArgumentError(
      `fleetEvents must be true, false or { maxLength }. Given: ${describe(fleetEvents)}.`,
    );
  }
  assertOptions('fleetEvents', fleetEvents, OPTIONS);
  const { maxLength = DEFAULT_LENGTH } = fleetEvents;
  assertInteger('fleetEvents.maxLength', maxLength, { min: 1000, max: 10_000_000 });
  return { maxLength };
}
