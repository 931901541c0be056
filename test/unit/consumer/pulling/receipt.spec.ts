import { InvalidArgumentError } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { type ReceiptContent, decodeReceipt, encodeReceipt } from '../../../../lib/consumer/pulling/receipt.js';

const CONTENT: ReceiptContent = {
  partition: { topic: 'images', index: 7 },
  storedId: 'ä\u0000"1',
  token: 'epoch.12',
  attempt: 2,
  maxAttempts: 5,
  receivedAt: 1_767_268_800_000,
  backoff: undefined,
  holder: undefined,
};

function receiptOf(fields: unknown): string {
  return Buffer.from(JSON.stringify(fields)).toString('base64url');
}

describe('a receipt', () => {
  it.each<[string, Partial<ReceiptContent>]>([
    ['as it mostly is', {}],
    ['of a message with its own backoff', { backoff: { delays: [1000, 2000], jitter: 0.2 } }],
    ['of a delivery that others wait for', { holder: 'web-1:17:0198c0de' }],
  ])('says what it was given for: %s', (_, more) => {
    const content = { ...CONTENT, ...more };
    const receipt = encodeReceipt(content);

    expect(receipt).toMatch(/^[\w-]+$/);
    expect(decodeReceipt(receipt)).toEqual(content);
  });

  it('of a later version is read as far as it is known', () => {
    const fields = JSON.parse(Buffer.from(encodeReceipt(CONTENT), 'base64url').toString()) as unknown[];

    expect(decodeReceipt(receiptOf([...fields, { more: true }]))).toEqual(CONTENT);
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['no text', 7],
    ['empty', ''],
    ['no base64', '§$%'],
    ['no list', receiptOf({ topic: 'images' })],
    ['too short', receiptOf([1, 'images', 0, 'a', 'epoch.1', 1, 5])],
    ['without a number', receiptOf([1, 'images', 0.5, 'a', 'epoch.1', 1, 5, 0])],
    ['with a number in place of a token', receiptOf([1, 'images', 0, 'a', 1, 1, 5, 0])],
  ])('is refused if it is %s', (_, receipt) => {
    expect(() => decodeReceipt(receipt)).toThrow(InvalidArgumentError);
  });
});
