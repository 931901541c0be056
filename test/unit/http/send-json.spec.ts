import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { sendJson } from '../../../lib/http/respond.js';

it('tells whoever waits for the headers of all of them by their names', () => {
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  const writeHead = response.writeHead.bind(response);
  let seen: unknown;
  response.writeHead = (status: number, ...more: unknown[]) => {
    seen = [more, response.getHeaders()];
    return writeHead(status);
  };
  sendJson(response, { status: 200, content: {} }, { 'cache-control': 'no-store' });
  const headers = {
    'cache-control': 'no-store',
    'content-type': 'application/json; charset=utf-8',
    'content-length': '2',
  };
  expect(seen).toEqual([[], headers]);
});
