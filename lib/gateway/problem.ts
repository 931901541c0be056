import { type PayloadIssue, toPayloadIssues } from '../checks/payload-issues.js';
import { BrokerUnavailableError } from '../errors/operation.errors.js';
import { InvalidPayloadError } from '../errors/publishing.errors.js';
import { Refusal, refusalOf } from '../http/refusal.js';
import type { JsonAnswer } from '../http/respond.js';

interface Kind {
  readonly status: number;
  readonly title: string;
}

/** All problems with which a request can be refused, by code. */
export const PROBLEMS = {
  INVALID_ARGUMENT: { status: 400, title: 'Something in the request is wrong' },
  SERIALIZATION: { status: 400, title: 'What was sent would not come back as it is' },
  INVALID_PAYLOAD: { status: 400, title: 'The payload does not fit the schema of its topic' },
  INVALID_JSON: { status: 400, title: 'The body is no JSON' },
  UNAUTHORIZED: { status: 401, title: 'A token is missing or wrong' },
  FORBIDDEN: { status: 403, title: 'This is not allowed' },
  NOT_FOUND: { status: 404, title: 'There is no such route' },
  TOPIC_NOT_SERVED: { status: 404, title: 'The topic is not served here' },
  MESSAGE_NOT_FOUND: { status: 404, title: 'There is no such message' },
  SCHEDULE_NOT_FOUND: { status: 404, title: 'There is no such schedule' },
  METHOD_NOT_ALLOWED: { status: 405, title: 'The route has no such method' },
  DUPLICATE_MESSAGE: { status: 409, title: 'A message with this id exists' },
  CONFIGURATION: { status: 409, title: 'The topic and the gateway are set up differently' },
  PAYLOAD_TOO_LARGE: { status: 413, title: 'The payload is too large' },
  BODY_TOO_LARGE: { status: 413, title: 'The body is too large' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, title: 'The body is not sent as JSON' },
  TOO_MANY_WAITING: { status: 429, title: 'Too many requests wait for messages' },
  INTERNAL: { status: 500, title: 'The gateway has failed' },
  BROKER_UNAVAILABLE: { status: 503, title: 'Redis does not answer' },
  NOT_REPLICATED: { status: 503, title: 'Too few replicas have confirmed the message' },
  RECEIVER_UNAVAILABLE: { status: 503, title: 'The gateway is starting or shutting down' },
} as const satisfies Readonly<Record<string, Kind>>;

export type ProblemCode = keyof typeof PROBLEMS;

export const PROBLEM_CODES = Object.keys(PROBLEMS) as readonly ProblemCode[];

/** Problem of a refused request, as RFC 9457 has it. */
export interface Problem {
  /** The code as a URN. */
  readonly type: string;
  /** Summary, the same for each problem of the code. */
  readonly title: string;
  /** Status of the answer; for one of many messages, the status that it would have alone. */
  readonly status: number;
  /** The given value, what is allowed, and what to do. */
  readonly detail: string;
  /** Code that distinguishes problems. */
  readonly code: ProblemCode;
  /** Issues that the schema of the topic found, if the code is `INVALID_PAYLOAD`. */
  readonly issues?: readonly PayloadIssue[];
}

export const PROBLEM_TYPE = 'application/problem+json';

/** Seconds after which it is worth sending the request again. */
const RETRY_AFTER: Readonly<Partial<Record<ProblemCode, string>>> = {
  TOO_MANY_WAITING: '1',
  BROKER_UNAVAILABLE: '1',
  RECEIVER_UNAVAILABLE: '1',
};

/** Returns the refusal of a request with a problem. */
export function refusal(code: ProblemCode, detail: string, headers: Readonly<Record<string, string>> = {}): Refusal {
  return new Refusal(PROBLEMS[code].status, code, detail, headers);
}

/** Returns the problem for an error; one that strangers learn nothing of is `INTERNAL`. */
export function toProblem(error: unknown): Problem {
  // Its text has the address of Redis, which is in the log.
  if (error instanceof BrokerUnavailableError) return problem('BROKER_UNAVAILABLE', BROKER_UNAVAILABLE);
  if (error instanceof InvalidPayloadError) {
    return { ...problem('INVALID_PAYLOAD', error.message), issues: toPayloadIssues(error.issues) };
  }
  const refused = refusalOf(error);
  if (refused && isCode(refused.code)) return problem(refused.code, refused.message);
  return problem('INTERNAL', 'The gateway has failed; the log of its process says why.');
}

/** @param error the error that was passed to {@link toProblem} */
export function problemAnswer(content: Problem, error: unknown): JsonAnswer {
  const { code, status } = content;
  const after = RETRY_AFTER[code];
  const headers = {
    ...(after === undefined ? {} : { 'retry-after': after }),
    ...(error instanceof Refusal ? error.headers : {}),
  };
  return { status, content, headers, type: PROBLEM_TYPE };
}

const BROKER_UNAVAILABLE =
  'Redis could not be reached, did not answer in time, or refused to serve; the log of the gateway says why. What was asked may have ' +
  'been done. Send the request again, with the same Idempotency-Key if it has one.';

function problem(code: ProblemCode, detail: string): Problem {
  const { status, title } = PROBLEMS[code];
  const type = `urn:nestjs-delay-queue:problem:${code.toLowerCase().replaceAll('_', '-')}`;
  return { type, title, status, detail, code };
}

function isCode(code: string): code is ProblemCode {
  return Object.hasOwn(PROBLEMS, code);
}
