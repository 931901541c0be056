import { type DynamicModule, Injectable, type ModuleMetadata } from '@nestjs/common';
import {
  BrokerUnavailableError,
  ConfigurationError,
  DelayedHandler,
  DelayQueueModule,
  type DelayQueueModuleOptions,
} from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { freePort } from '../../support/servers/redis-server.js';
import { useBed } from '../../support/app/bed.js';

const bed = useBed();

@Injectable()
class Invoices {
  @DelayedHandler('invoices', { connection: 'bililng' })
  remind(): void {}
}

@Injectable()
class Jobs {
  @DelayedHandler('jobs')
  work(): void {}
}

/** Modules with the options of the test and the given ones. */
function modules(...options: DelayQueueModuleOptions[]): DynamicModule[] {
  return options.map((more) => DelayQueueModule.forRoot({ ...bed.options(), ...more }));
}

/** Boots a wrong set-up, expects that nothing of it is left, and returns the error of the boot. */
async function refusalOf(metadata: ModuleMetadata, connection?: string): Promise<string> {
  const error = await bed.failingBoot(async () => bed.compileWith(metadata, connection));
  expect(error).toBeInstanceOf(ConfigurationError);
  await bed.expectNothingOpen();
  expect(await bed.ofConsumers()).toEqual([]);
  return error.message;
}

describe('the boot fails and leaves nothing open', () => {
  it.each<{ what: string; options: DelayQueueModuleOptions[]; connection: string }>([
    { what: 'without a name', options: [{}, { publishTimeout: 1000 }], connection: 'default' },
    {
      what: "of which one is named 'default'",
      options: [{ name: 'default' }, { publishTimeout: 1000 }],
      connection: 'default',
    },
    {
      what: 'of one name',
      options: [{}, { name: 'billing' }, { name: 'billing', defaults: { attempts: 2 } }],
      connection: 'billing',
    },
    { what: 'of which one only publishes', options: [{ consumer: false }, {}], connection: 'default' },
    {
      what: 'that only publish',
      options: [
        { consumer: false },
        { name: 'billing', consumer: false },
        { name: 'billing', consumer: false, publishTimeout: 1000 },
      ],
      connection: 'billing',
    },
    {
      what: 'with middleware of their own',
      options: [
        { middleware: [{ handle: async (_, next) => next() }] },
        { middleware: [{ handle: async (_, next) => next() }] },
      ],
      connection: 'default',
    },
  ])('if two modules $what have different options', async ({ options, connection }) => {
    const said = await refusalOf({ imports: modules(...options), providers: [Jobs] });
    expect(said).toContain(`more than once as connection '${connection}', with different options`);
  });

  it.each([
    { what: 'a default connection', names: ['default'] },
    { what: 'two connections', names: ['default', 'billing'] },
    { what: 'no default connection', names: ['billing', 'audit'] },
  ])('if a handler asks for a connection that does not exist, but $what', async ({ names }) => {
    const imports = modules(...names.map((name) => ({ name })));
    const said = await refusalOf({ imports, providers: [Invoices] }, names[0]);
    for (const text of ['Invoices.remind', "no connection 'bililng'", names.join(', ')]) expect(said).toContain(text);
  });

  it('if a handler names no connection, and there is no default one', async () => {
    const said = await refusalOf({ imports: modules({ name: 'billing' }), providers: [Jobs] }, 'billing');
    for (const text of ['Jobs.work', "no connection 'default'", 'billing']) expect(said).toContain(text);
  });

  it.each([
    { name: '', given: "''" },
    { name: 'no spaces', given: "'no spaces'" },
    { name: '{braces}', given: "'{braces}'" },
    { name: 'x'.repeat(129), given: "'xxx" },
    { name: 5 as unknown as string, given: '5' },
    { name: null as unknown as string, given: 'null' },
    { name: {} as unknown as string, given: '{}' },
  ])('if a connection is named $given', async ({ name, given }) => {
    const async = DelayQueueModule.forRootAsync({ name, useFactory: () => bed.options() });
    for (const imports of [modules({}, { name }), [...modules({}), async]]) {
      const said = await refusalOf({ imports });
      expect(said).toContain('A connection must be 1 to 128 characters of A-Z a-z 0-9 . _ : -');
      expect(said).toContain(`Given: ${given}`);
    }
  });

  it.each([
    { option: 'name', value: 'billing' },
    { option: 'isGlobal', value: false },
  ])("if a factory returns '$option', and says where it belongs", async ({ option, value }) => {
    const queue = DelayQueueModule.forRootAsync({ useFactory: () => ({ ...bed.options(), [option]: value }) });
    const said = await refusalOf({ imports: [queue] });
    for (const text of [`'${option}'`, 'beside useFactory']) expect(said).toContain(text);
  });

  it.each(['first', 'last'])('if the Redis of a named connection cannot be reached, which is the %s', async (place) => {
    const redis = { host: '127.0.0.1', port: await freePort() };
    const lost = { name: 'billing', redis, publishTimeout: 300 };
    const imports = modules(...(place === 'first' ? [lost, {}] : [{}, lost]));
    const error = await bed.failingBoot(async () => bed.compileWith({ imports, providers: [Jobs] }));
    expect(error).toBeInstanceOf(BrokerUnavailableError);
    expect(error.message).toContain(`127.0.0.1:${redis.port}`);
    await bed.expectNothingOpen();
  });

  it.each(['first', 'last'])('if one connection cannot consume, which is the %s', async (place) => {
    const prefix = `${bed.prefix}-billing`;
    await bed.redis.hset(`{${prefix}:invoices}:config`, 'partitions', '4', 'protocol', '2');

    @Injectable()
    class BillingInvoices {
      @DelayedHandler('invoices', { connection: 'billing' })
      remind(): void {}
    }

    const billing = { name: 'billing', prefix, defaults: { partitions: 8 } };
    const imports = modules(...(place === 'first' ? [billing, {}] : [{}, billing]));
    const said = await refusalOf({ imports, providers: [Jobs, BillingInvoices] });
    for (const text of ["'invoices'", '4 partitions', 'configured with 8']) expect(said).toContain(text);
  });
});
