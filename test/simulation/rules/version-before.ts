import type { WatchedCall } from './owner-rules.js';

/** How many values a claim of the version before answers before the messages: it has no shared records to tell of. */
const CLAIM_HEAD = 9;

/** Lines of the columns of a publish that come before the one that says which messages have keys of their own. */
const BEFORE_OWN_KEYS = 2;

/** A call as this version would have made it, so that rules know one form: what keys are for tells which build has made it. */
export function asOfNow(call: WatchedCall): WatchedCall {
  if (call.name !== 'publish' || !isBefore(call)) return call;
  const lines = (call.given as { readonly columns: string }).columns.split('\n');
  const columns = lines.toSpliced(BEFORE_OWN_KEYS, 0, '').join('\n');
  return { ...call, given: { ...call.given, columns } };
}

/** What Redis has answered, as it answers this version. */
export function answerAsOfNow(call: WatchedCall, reply: unknown): unknown {
  if (call.name !== 'claim' || !Array.isArray(reply) || reply.length < CLAIM_HEAD || !isBefore(call)) return reply;
  return (reply as readonly unknown[]).toSpliced(CLAIM_HEAD, 0, '');
}

/** Nothing of a partition that it knows is shared by deliveries. */
function isBefore({ place }: WatchedCall): boolean {
  return 'owner' in place && !('claims' in place);
}
