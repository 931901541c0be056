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

export function sendJson(
  response: ServerResponse,
  { status, content, text = JSON.stringify(content), headers = {}, type = JSON_TYPE }: JsonAnswer,
): void {
  response.writeHead(status, { ...headers, 'content-type': type, 'content-length': Buffer.byteLength(text) });
  // As a text it goes out together with the headers; bytes would be a second part.
  response.end(text);
}
