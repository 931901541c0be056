import { inspect } from 'node:util';
import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { WebhookSigner } from '../../../lib/outbound/push/webhook-signer.js';
import { failureOf } from '../../support/units/wrong-options.js';

describe('signatures', () => {
  it('are those of the example in the specification of Standard Webhooks', () => {
    const signer = new WebhookSigner('secret', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
    expect(signer.sign('msg_p5jXN8AQM9LWM0D4loKWxJek', 1614265330, '{"test": 2432232314}')).toBe(
      'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    );
  });

  it.each(['', '{}', '"grüße, 世界"', 'null', 'x'.repeat(100_000)])(
    'are those of the reference library: %.20s',
    (body) => {
      for (const length of [24, 32, 64]) {
        const secret = `whsec_${randomBytes(length).toString('base64')}`;
        const id = `msg_${randomBytes(8).toString('hex')}`;
        const now = Math.floor(Date.now() / 1000);
        expect(new WebhookSigner('secret', secret).sign(id, now, body)).toBe(
          new Webhook(secret).sign(id, new Date(now * 1000), body),
        );
      }
    },
  );

  it('are one for each secret', () => {
    const secrets = [1, 2, 3].map((fill) => `whsec_${Buffer.alloc(24, fill).toString('base64')}`);
    const alone = secrets.map((secret) => new WebhookSigner('secret', secret).sign('msg_1', 1, '{}'));
    expect(new WebhookSigner('secret', secrets).sign('msg_1', 1, '{}')).toBe(alone.join(' '));
  });
});

describe('secrets', () => {
  it.each([
    ['no text', 42],
    ['nothing', undefined],
    ['an empty text', ''],
    ['no prefix', Buffer.alloc(32, 7).toString('base64')],
    ['no base64', `whsec_${'*'.repeat(44)}`],
    ['the alphabet of URLs', `whsec_${Buffer.alloc(33, 255).toString('base64url')}`],
    ['too few bytes', `whsec_${Buffer.alloc(23, 7).toString('base64')}`],
    ['too many bytes', `whsec_${Buffer.alloc(65, 7).toString('base64')}`],
    ['no secret at all', []],
    ['too many secrets', Array.from({ length: 6 }, () => `whsec_${Buffer.alloc(32, 7).toString('base64')}`)],
  ])('are refused, and not shown: %s', (_, secret) => {
    const error = failureOf(() => new WebhookSigner('push.secret', secret));
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(error.message).toContain('push.secret must be');
    expect(error.message).not.toMatch(/BwcH|\*{4}/);
  });

  it('are not in what is printed of a signer', () => {
    const signer = new WebhookSigner('secret', `whsec_${Buffer.alloc(32, 'plain').toString('base64')}`);
    expect(inspect(signer, { showHidden: true, depth: 9 })).toBe('WebhookSigner {}');
    expect(JSON.stringify(signer)).toBe('{}');
  });
});
