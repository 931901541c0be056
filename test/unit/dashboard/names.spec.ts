import { expect, it } from 'vitest';
import { visible } from '../../../lib/dashboard/browser/names.js';

it('a name shows what cannot be seen in it, or would turn what stands around it', () => {
  expect(visible('order-\u202E24\n\u{E0041}')).toBe(String.raw`order-\u202e24\u000a\u{e0041}`);
  expect(visible('заказ 订单 42')).toBe('заказ 订单 42');
});
