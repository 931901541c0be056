import { InvalidArgumentError } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { checkConfig } from '../../../lib/gateway/gateway-config.js';
import { KnownTokens, mayUse } from '../../../lib/gateway/tokens.js';

const shop = { name: 'shop', token: 'abc', rights: { orders: ['publish', 'read'] } };

describe('checkConfig()', () => {
  it('reads topics and tokens', () => {
    const { topics, tokens } = checkConfig({ topics: { orders: { attempts: 3 } }, tokens: [shop] }, ['mail', 'orders']);
    expect(topics).toEqual({ orders: { attempts: 3 }, mail: {} });
    const token = new KnownTokens(tokens).find('Bearer abc');
    expect(token?.name).toBe('shop');
    expect(
      token && [mayUse(token, 'orders', 'read'), mayUse(token, 'orders', 'operate'), mayUse(token, 'mail', 'read')],
    ).toEqual([true, false, false]);
  });

  it.each<[unknown, string]>([
    [[], 'must be an object'],
    [{ topic: {} }, "no option 'topic'"],
    [{ topics: { 'a b': {} } }, 'A topic must be'],
    [{ topics: { orders: 1 } }, "topics['orders'] must be an object"],
    [{ tokens: {} }, 'must be an array'],
    [{ tokens: [{ ...shop, token: 'se cret' }] }, 'tokens[0].token must be'],
    [{ tokens: [{ ...shop, extra: 1 }] }, "no option 'extra'"],
    [{ tokens: [{ ...shop, name: undefined }] }, 'A tokens[0].name must be'],
    [
      { tokens: [{ ...shop, rights: { order: ['read'] } }] },
      "topic 'order', which is not served. Did you mean 'orders'?",
    ],
    [{ tokens: [{ ...shop, rights: { orders: ['write'] } }] }, "must be one of 'publish'"],
    [{ tokens: [{ ...shop, rights: { orders: 'read' } }] }, 'must be an array of rights'],
    [{ tokens: [shop, { ...shop, token: 'other' }] }, 'tokens[1] has the name or the token of tokens[0]'],
    [{ tokens: [shop, { ...shop, name: 'other' }] }, 'tokens[1] has the name or the token of tokens[0]'],
  ])('refuses %j', (given, message) => {
    const check = () => checkConfig(given, ['orders']);
    expect(check).toThrow(InvalidArgumentError);
    expect(check).toThrow(message);
    expect(check).not.toThrow(/se cret/);
  });
});

describe('KnownTokens', () => {
  const [first, second] = [{ token: shop.token }, { token: 'abcd' }];
  const known = new KnownTokens([first, second]);

  it.each([undefined, '', 'abc', 'Basic abc', 'Bearer', 'Bearer ab', 'Bearer abcde', 'Bearer abc d'])(
    'knows no one by %j, whoever was there before',
    (header) => {
      known.find('Bearer abc');
      expect(known.find(header)).toBeUndefined();
      expect(known.find(header)).toBeUndefined();
    },
  );

  it.each([
    ['Bearer abc', first],
    ['bearer  abc ', first],
    ['Bearer abcd', second],
  ])('knows who sends %j, each time', (header, token) => {
    expect([known.find(header), known.find(header)]).toEqual([token, token]);
  });
});
