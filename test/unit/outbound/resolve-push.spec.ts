import { describe, expect, it } from 'vitest';
import { resolveOptions } from '../../../lib/composition/resolve-options.js';
import type { PushOptions } from '../../../lib/outbound/push/push-options.interface.js';
import { failureOf } from '../../support/units/wrong-options.js';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

/** The error of the boot with such options, whatever their types. */
function refusal(push: object): Error {
  const given = { url: 'https://example.com', secret: SECRET, ...push };
  return failureOf(() => resolveOptions({ topics: { jobs: { push: given } } }));
}

describe('where messages are pushed to', () => {
  it('has defaults for all that is not given', () => {
    const push: PushOptions = { url: new URL('https://example.com/a?b#c'), secret: SECRET };
    expect(resolveOptions({ topics: { jobs: { push } } }).outbound.get('jobs')?.target).toMatchObject({
      url: new URL('https://example.com/a?b'),
      headers: {},
      timeout: 30_000,
      concurrency: 20,
      allowPrivate: false,
    });
  });

  it.each([
    ['a secret in place of the options', SECRET],
    ['a URL in place of the options', 'https://user:password@example.com'],
    ['an array', []],
  ])('is refused, and not shown: %s', (_, push) => {
    const error = failureOf(() => resolveOptions({ topics: { jobs: { push: push as never } } }));
    expect(error.message).toContain("topics['jobs'].push must be an object with url and secret. Given: ");
    expect(error.message).not.toMatch(/whsec|password/);
  });

  it.each([
    ['an unknown option', { timeuot: 1 }, "no option 'timeuot' in topics['jobs'].push. Did you mean 'timeout'?"],
    ['no URL', { url: undefined }, 'url must be a URL'],
    ['what is no URL', { url: 'example.com/password' }, 'url must be a URL'],
    ['another scheme', { url: 'ftp://example.com/password' }, 'url must begin with https:// or http://. Given: ftp:'],
    ['a file', { url: 'file:///etc/passwd' }, 'url must begin with https:// or http://'],
    ['a user name', { url: 'https://password@example.com' }, 'must not have a user name or a password'],
    ['a password', { url: 'https://a:password@example.com' }, 'must not have a user name or a password'],
    ['a header of its own', { headers: { 'Webhook-Id': 'password' } }, "must not have 'Webhook-Id'"],
    ['a length', { headers: { 'Content-Length': '1' } }, "must not have 'Content-Length'"],
    ['a header in two lines', { headers: { a: 'password\r\nb: c' } }, "has a header 'a' that HTTP does not allow"],
    ['a header that is no word', { headers: { 'a b': 'password' } }, "has a header 'a b' that HTTP does not allow"],
    ['a header that is no text', { headers: { a: ['password'] } }, "has a header 'a' that HTTP does not allow"],
    ['no object of headers', { headers: 'password' }, 'headers must be an object of texts by name. Given: string.'],
    ['a timeout of 0', { timeout: 0 }, 'timeout must be between 1 ms and 1 hour'],
    ['a timeout of a day', { timeout: '1d' }, 'timeout must be between 1 ms and 1 hour'],
    ['nothing at once', { concurrency: 0 }, 'concurrency must be a whole number from 1 to 1000'],
    ['a text for yes', { allowPrivate: 'yes' }, "allowPrivate must be true or false. Given: 'yes'"],
  ])('is refused with a ConfigurationError that shows no secret: %s', (_, push, says) => {
    const error = refusal(push);
    expect(error).toMatchObject({ code: 'CONFIGURATION' });
    expect(error.message).toContain("topics['jobs'].push");
    expect(error.message).toContain(says);
    expect(error.message).not.toMatch(/BwcH|: 'password|\['password/);
    expect(error.message.replaceAll(/user name or a password|user name and/g, '')).not.toContain('password');
  });

  it.each([
    'http://127.0.0.1',
    'http://localhost:8080',
    'http://LOCALHOST.',
    'http://api.localhost',
    'http://[::1]',
    'http://[::ffff:127.0.0.1]',
    'http://[::ffff:7f00:1]',
    'http://0.0.0.0',
    'http://0',
    'http://127.1',
    'http://2130706433',
    'http://0x7f000001',
    'http://0177.0.0.1',
    'http://017700000001',
    'http://127.0.0.1.',
    'http://①②⑦.⓪.⓪.①',
    'http://10.1.2.3',
    'http://192.168.0.1',
    'http://169.254.169.254/latest/meta-data',
    'http://[fd00:ec2::254]',
    'http://[64:ff9b::7f00:1]',
  ])('is refused if it is an address that is not public, in whatever form: %s', (url) => {
    expect(refusal({ url }).message).toContain('is not an address of the public internet. If that is what you want');
    expect(() =>
      resolveOptions({ topics: { jobs: { push: { url, secret: SECRET, allowPrivate: true } } } }),
    ).not.toThrow();
  });
});

it('belongs to a topic, not to all of them', () => {
  const push = { url: 'https://example.com', secret: SECRET };
  expect(() => resolveOptions({ defaults: { push } })).toThrow("defaults cannot have 'push': give it to each topic");
});
