import { EventEmitter } from 'node:events';
import { ClientProxy } from '@nestjs/microservices';
import { EMPTY } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { resolveOptions } from '../../../lib/composition/resolve-options.js';
import { clientOf } from '../../../lib/outbound/forward/resolve-forward.js';
import { failureOf } from '../../support/units/wrong-options.js';

const client = { emit: () => EMPTY };

describe('where messages are forwarded to', () => {
  it.each([
    ['no options', 'amqp://user:password@host', 'must be an object with client and pattern. Given: string.'],
    ['an unknown option', { patern: 'paid' }, "no option 'patern' in topics['jobs'].forward. Did you mean 'pattern'?"],
    ['no client', { client: undefined }, 'client must be what a ClientProxy of @nestjs/microservices is provided as'],
    ['a name of nothing', { client: '' }, 'client must be what'],
    ['null', { client: null }, 'client must be what'],
    ['the options of a client', { client: { urls: ['amqp://user:password@host'] } }, 'client must be what'],
    ['no pattern', { pattern: undefined }, 'pattern must be the event that is emitted'],
    ['a pattern of nothing', { pattern: '' }, 'pattern must be'],
    ['an empty pattern', { pattern: {} }, 'pattern must be'],
    ['a number that is none', { pattern: NaN }, 'pattern must be'],
    ['a list of patterns', { pattern: ['a'] }, 'pattern must be'],
    ['data that is no function', { data: 1 }, 'data must be a function that makes the data of a message. Given: 1.'],
    ['nothing at once', { concurrency: 0 }, 'concurrency must be a whole number from 1 to 1000'],
  ])('is refused with a ConfigurationError that shows no secret: %s', (_, given, says) => {
    const forward = (typeof given === 'string' ? given : { client, pattern: 'paid', ...given }) as never;
    const error = failureOf(() => resolveOptions({ topics: { jobs: { forward } } }));
    expect(error).toMatchObject({ code: 'CONFIGURATION' });
    expect(error.message).toContain(says);
    expect(error.message).not.toContain('password');
  });

  it.each(['paid', 0, { event: 'paid' }])('may be any pattern of Nest: %j', (pattern) => {
    const { outbound } = resolveOptions({ topics: { jobs: { forward: { client: 'ORDERS', pattern } } } });
    expect(outbound.get('jobs')).toMatchObject({ option: 'forward', target: { pattern, concurrency: 20 } });
  });

  it('is that of a topic, not of all of them, and not beside a URL', () => {
    const forward = { client: 'ORDERS', pattern: 'paid' };
    expect(() => resolveOptions({ defaults: { forward } })).toThrow("defaults cannot have 'forward': give it to each");
    const push = { url: 'https://example.com', secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}` };
    expect(() => resolveOptions({ topics: { jobs: { push, forward } } })).toThrow(
      "topics['jobs'] has 'push' and 'forward'. A message goes to one place",
    );
  });
});

describe('the client that messages are forwarded through', () => {
  const name = "topics['jobs'].forward";

  it('is the one that is given, or the one that the application provides', () => {
    expect(clientOf(name, { client }, () => [])).toBe(client);
    for (const token of ['ORDERS', Symbol('ORDERS'), ClientProxy]) {
      expect(clientOf(name, { client: token }, (sought) => (sought === token ? [client, client] : []))).toBe(client);
    }
  });

  it.each([
    ['nothing', 'ORDERS', [], "'ORDERS', and the application provides no single instance as that"],
    ['one for each request', Symbol('ORDERS'), [undefined], 'Symbol(ORDERS), and the application provides no single'],
    ['several', ClientProxy, [client, { ...client }], 'ClientProxy, and several modules provide one each'],
    ['no client', 'ORDERS', [{}], "'ORDERS', and what the application provides as that has no emit()"],
    [
      'a client of gRPC',
      'ORDERS',
      [{ ...client, getService: () => {} }],
      'is a client of gRPC, and gRPC has no events',
    ],
    ['an emitter', 'ORDERS', [new EventEmitter()], "'ORDERS', which tells listeners in this process"],
  ])('is refused if the application provides %s', (_, token, found, says) => {
    const error = failureOf(() => clientOf(name, { client: token }, () => found));
    expect(error).toMatchObject({ code: 'CONFIGURATION' });
    expect(error.message).toContain(`${name}.client is `);
    expect(error.message).toContain(says);
  });

  it('is refused if an emitter is given itself', () => {
    const error = failureOf(() => clientOf(name, { client: new EventEmitter() as never }, () => []));
    expect(error.message).toContain(`${name}.client is EventEmitter, which tells listeners`);
  });
});
