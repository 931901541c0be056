import { expect, it } from 'vitest';
import { splitUrl } from '../../../lib/http/framework.js';

it.each([
  ['/v1/topics', '/v1/topics', ''],
  ['/v1/topics?a=1?b=2', '/v1/topics', 'a=1?b=2'],
  ['//v1/topics', '//v1/topics', ''],
  ['http://shop:8080/v1/topics?a=1', '/v1/topics', 'a=1'],
  ['HTTPS://shop/http://v1', '/http://v1', ''],
  ['http://shop?a=1', '', 'a=1'],
  ['*', '*', ''],
])('takes %s apart', (url, path, search) => {
  expect(splitUrl(url)).toEqual({ path, search });
});
