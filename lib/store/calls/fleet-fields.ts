import type { Driver } from '../driver.interface.js';
import type { StoreKeys } from '../keys.js';
import type { StoreOptions } from '../store-options.interface.js';
import { NumberedCalls } from './numbered-calls.js';

/** Changes the fields of a record that the fleet shares. A delayed copy of a change does nothing. */
export class FleetFields {
  readonly #driver: Driver;
  readonly #keys: StoreKeys;
  readonly #numbered = new NumberedCalls();

  constructor({ driver, keys }: Pick<StoreOptions, 'driver' | 'keys'>) {
    this.#driver = driver;
    this.#keys = keys;
  }

  /**
   * Sets a field if it holds the value that the caller has seen; `null`: no field.
   *
   * @param adds see {@link Driver.run}
   * @returns the value that it holds instead, if it was not set
   */
  async replace(
    record: string,
    { field, value, seen }: { readonly field: string; readonly value: string; readonly seen: string | null },
    adds?: boolean,
  ): Promise<{ readonly isSet: true } | { readonly isSet: false; readonly stored: string | null }> {
    const given = { ...this.#change(field), value, replaces: seen ?? '', is_first: seen === null ? 1 : 0 };
    const [isSet, stored = null] = await this.#driver.run('replace-field', { record }, given, adds);
    return isSet === 1 ? { isSet: true } : { isSet: false, stored: stored as string | null };
  }

  async remove(record: string, field: string): Promise<void> {
    await this.#driver.run('remove-field', { record }, this.#change(field));
  }

  /** Numbers the changes of each field by themselves. */
  #change(field: string): { field: string; answered: string; sequence: number } {
    return { field, ...this.#numbered.next((caller) => this.#keys.answeredOfFleet(`${caller}:${field}`)) };
  }
}
