import type { MessageFilter } from '../admin/message-filter.js';
import { isPlainObject } from '../checks/kinds.js';
import { Refusal } from '../http/refusal.js';
import type { AskedContext, Input } from './route.js';

/**
 * The filter that a body has.
 *
 * @throws Refusal if it is none, or means one message, which is named elsewhere
 */
export function givenFilter(body: Input): object {
  const filter = body.value('filter');
  if (isPlainObject(filter) && !('id' in filter)) return filter;
  throw new Refusal(400, 'INVALID_ARGUMENT', "'filter' must be an object with what the messages have in common.");
}

/** The filter that the parameters of a URL stand for. */
export function queriedFilter(query: Input): MessageFilter {
  const path = query.optionalText('field');
  return {
    tag: query.optionalText('tag'),
    key: query.optionalText('key'),
    text: query.optionalText('text'),
    ...(path !== undefined && { field: { path, value: query.text('value') } }),
    from: query.optionalNumber('from'),
    to: query.optionalNumber('to'),
  };
}

/** @throws Refusal if a filter looks into payloads that the viewer may not see: they could be told by trial */
export function assertMayFilterBy({ viewer }: Pick<AskedContext, 'viewer'>, filter: object): void {
  if (looksIntoPayloads(filter)) viewer.assertSeesPayloads();
}

/** @throws Refusal also if `redact` hides parts of payloads: what would be changed, and how much of it, tells them by trial */
export function assertMayActBy({ viewer, redact }: Pick<AskedContext, 'viewer' | 'redact'>, filter: object): void {
  assertMayFilterBy({ viewer }, filter);
  if (!redact || !looksIntoPayloads(filter)) return;
  throw new Refusal(
    403,
    'FORBIDDEN',
    "The option 'redact' hides parts of payloads, so what is to be changed cannot be chosen by text or field. Choose it by tag, key or time.",
  );
}

function looksIntoPayloads(filter: object): boolean {
  const { text, field } = filter as MessageFilter;
  return text !== undefined || field !== undefined;
}
