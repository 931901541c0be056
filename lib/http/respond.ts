import type { IncomingMessage, ServerResponse } from 'node:http';
import { isGone, whenLost } from './carrier.js';

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

/** A request, by what its mount or its server knows of it. */
export interface ServedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** That whoever asks knows. @defaultValue the one that the request names */
  readonly host?: string | undefined;
  /** Called once, right before the answer is written. */
  readonly begin?: () => void;
  /** Below the place where the handler is mounted, with a slash before it, as it was sent. */
  readonly path: string;
  /** Where that is, such as `/api`. @defaultValue right at the origin */
  readonly base?: string;
  /** The query as it was sent, without the question mark. */
  readonly search: string;
  /** What a parser of the application has made of the body, if one has read it: its bytes, or a value. */
  readonly body: unknown;
}

/** What a handler answers. */
export interface Answer extends JsonAnswer {
  /** Called if whoever asked has gone before the answer was written. */
  readonly onLost?: () => void;
}

/** How a handler answers. */
export interface Answering {
  /** In the log. */
  readonly name: string;
  readonly log: { error(message: string): void };
  /** Headers of every answer. @defaultValue none */
  headers?(): Readonly<Record<string, string>>;
  /** Tells an error. The status 500 stands for a fault of ours, of which a stranger learns nothing. */
  told(error: unknown): JsonAnswer;
}

/** What the application has thrown while it was asked: it answers that itself. */
export class ApplicationFailure extends Error {
  constructor(readonly error: unknown) {
    super('The application has thrown.');
  }
}

/**
 * Answers a request. Rejects only with what the application has thrown; nothing is written then.
 *
 * @param work answers `undefined` if it has written the answer itself
 */
export async function respond(
  { request, response, path, begin }: ServedRequest,
  answering: Answering,
  work: () => Promise<Answer | undefined>,
): Promise<void> {
  let answer: Answer | undefined;
  try {
    answer = await work();
    // What a schema or a serializer has made may be nothing that JSON can write.
    if (answer && answer.text === undefined) answer = { ...answer, text: JSON.stringify(answer.content) };
  } catch (error) {
    if (error instanceof ApplicationFailure) throw error.error;
    if (isGone(request)) return;
    answer = answering.told(error);
    if (answer.status === 500) {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      answering.log.error(`The ${answering.name} could not answer ${request.method} ${path}: ${text}`);
    }
  }
  if (!answer) return;
  if (response.headersSent) {
    response.end();
    return;
  }
  const { onLost } = answer;
  if (isGone(request)) {
    onLost?.();
    return;
  }
  if (onLost) whenLost(request, response, onLost);
  begin?.();
  sendJson(response, answer, answering.headers?.());
}
