import type { Broker } from '../../lib/broker/broker.interface.js';

/** One broker under test, with a hand on its clock. */
export interface BrokerHarness {
  readonly broker: Broker;
  /** The broker's own clock, epoch milliseconds with fractions. */
  time(): Promise<number>;
  /** Resolves once so many milliseconds have passed on the broker's clock. */
  advance(milliseconds: number): Promise<void>;
  close(): Promise<void>;
}

export type CreateHarness = () => Promise<BrokerHarness>;
