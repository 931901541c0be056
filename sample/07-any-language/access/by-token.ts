import { createHash } from 'node:crypto';
import { UnauthorizedException } from '@nestjs/common';
import type { GatewayAccess, GatewayHttpRequest, GatewayRight } from 'nestjs-delay-queue/gateway';
import { PROGRAMS, type ProgramName, TOKENS } from './tokens.js';

/** All that each program needs, and no more. */
const RIGHTS: Readonly<Record<ProgramName, Readonly<Record<string, readonly GatewayRight[]>>>> = {
  python: { 'invoice.render': ['receive'], 'invoice.rendered': ['publish'] },
  php: { 'reminder.send': ['publish'] },
  go: { 'invoice.render': ['read'], 'invoice.rendered': ['read'], 'reminder.send': ['read'] },
};

/** Tokens are looked up by their digests, so that the time that it takes tells nothing of a token. */
const BY_DIGEST = new Map(PROGRAMS.map((program) => [digest(TOKENS[program]), program]));

/** Knows each program by its bearer token. */
export const byToken: GatewayAccess<GatewayHttpRequest> = ({ headers }, { topic, right }) => {
  const token = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
  const program = token === undefined ? undefined : BY_DIGEST.get(digest(token));
  if (program === undefined) throw new UnauthorizedException('The request has no token that is known.');
  return RIGHTS[program][topic]?.includes(right) ?? false;
};

function digest(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}
