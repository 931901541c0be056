import { buildShop } from '../../../scripts/setup/build.mjs';

/** Builds the application whose dashboard is looked at, once for all tests of its pages. */
export const setup = buildShop;
