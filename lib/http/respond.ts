import type { IncomingMessage, ServerResponse } from 'node:http';
import { isGone, whenLost } from './carrier.js';

/** An answer whose content is JSON. */
export interface JsonAnswer {
  readonly status: number;
  readonly content: unknown;
  /** The serialized content, if it is known already. @defaultValue the content as JSON */
  readonly text?: string;
  /** Headers beside those of its content. */
  readonly headers?: Readonly<Record<string, string>>;
  /** @defaultValue 'application/json; charset=utf-8' */
  readonly type?: string;
}

const JSON_TYPE = 'application/json; charset=utf-8';
const NONE: Readonly<Record<string, string>> = {};

/** @param common headers that every answer of the sender has */
export function sendJson(response: ServerResponse, answer: JsonAnswer, common = NONE): void {
  const { status, text = JSON.stringify(answer.content), headers = NONE, type = JSON_TYPE } = answer;
  // A list: Node.js takes several microseconds to walk through an object that was merged from others.
  const lines: string[] = [];
  for (const name in common) lines.push(name, common[name] as string);
  for (const name in headers) lines.push(name, headers[name] as string);
  lines.push('content-type', type, 'content-length', String(Buffer.byteLength(text)));
  if (Object.hasOwn(response, 'writeHead')) {
    // Something hooks into the headers, perhaps on-headers before 1.1.0, as in many Express applications: it takes a list for one of pairs.
    for (let i = 0; i < lines.length; i += 2) response.setHeader(lines[i] as string, lines[i + 1] as string);
    response.writeHead(status);
  } else {
    response.writeHead(status, lines);
  }
  // A string goes out together with the headers; bytes would be a second part.
  response.end(text);
}

/** A request, with what its mount or its server knows about it. */
export interface ServedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Host that the client asked. @defaultValue the one that the request names */
  readonly host?: string | undefined;
  /** Called once, right before the answer is written. */
  readonly begin?: () => void;
  /** Path below the mount of the handler, with a leading slash, as sent. */
  readonly path: string;
  /** Path of the mount, such as `/api`. @defaultValue the origin itself */
  readonly base?: string;
  /** The query as sent, without the question mark. */
  readonly search: string;
  /** Body as a parser of the application returned it, if one has read it: its bytes, or a value. */
  readonly body: unknown;
}

/** Answer of a handler. */
export interface Answer extends JsonAnswer {
  /** Called if the client goes before the answer is written. */
  readonly onLost?: () => void;
}

/** The answering part of a handler. */
export interface Answering {
  /** Its name in the log. */
  readonly name: string;
  readonly log: { error(message: string): void };
  /** Headers of every answer. @defaultValue none */
  headers?(): Readonly<Record<string, string>>;
  /** Converts an error to an answer. Status 500 stands for an internal fault, which strangers learn nothing of. */
  told(error: unknown): JsonAnswer;
}

/** Error that the application threw when it was asked: it answers that itself. */
export class ApplicationFailure extends Error {
  constructor(readonly error: unknown) {
    super('The application has thrown.');
  }
}

/**
 * Answers a request. Rejects only with an error that the application threw; then nothing is written.
 *
 * @param work returns `undefined` if it has written the answer itself
 */
export async function respond(
  { request, response, path, begin }: ServedRequest,
  answering: Answering,
  work: () => Promise<Answer | undefined>,
): Promise<void> {
  let answer: Answer | undefined;
  try {
    answer = await work();
    // A schema or a serializer may have produced something that JSON cannot represent.
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
