import type { ServerResponse } from 'node:http';

/** An answer whose content is JSON. */
export interface JsonAnswer {
  readonly status: number;
  readonly content: unknown;
  /** The content as it is sent, if that is known already. @defaultValue it is written as JSON */
  readonly text?: string;
  /** Beside those of its content. */
  readonly headers?: Readonly<Record<string, string>>;
  /** @defaultValue 'application/json; charset=utf-8' */
  readonly type?: string;
}

const JSON_TYPE = 'application/json; charset=utf-8';
const NONE: Readonly<Record<string, string>> = {};

/** @param common headers that every answer of the sender has */
export function sendJson(response: ServerResponse, answer: JsonAnswer, common = NONE): void {
  const { status, text = JSON.stringify(answer.content), headers = NONE, type = JSON_TYPE } = answer;
  // A list: Node.js takes several microseconds to go through an object that was put together of others.
  const lines: string[] = [];
  for (const name in common) lines.push(name, common[name] as string);
  for (const name in headers) lines.push(name, headers[name] as string);
  lines.push('content-type', type, 'content-length', String(Buffer.byteLength(text)));
  if (Object.hasOwn(response, 'writeHead')) {
    // Somebody waits for the headers, maybe by on-headers of before 1.1.0, as in many an Express: it takes a list for one of pairs.
    for (let i = 0; i < lines.length; i += 2) response.setHeader(lines[i] as string, lines[i + 1] as string);
    response.writeHead(status);
  } else {
    response.writeHead(status, lines);
  }
  // As a text it goes out together with the headers; bytes would be a second part.
  response.end(text);
}
