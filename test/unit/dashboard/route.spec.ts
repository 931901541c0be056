import { expect, it } from 'vitest';
import type { MessageDetails } from '../../../lib/admin/message-details.js';
import { shownMessage } from '../../../lib/dashboard/redaction.js';
import { Given, route } from '../../../lib/dashboard/route.js';
import { cut, itsTopic, noTopic } from '../../../lib/dashboard/sees.js';

declare const message: MessageDetails;
const stored = async () => message;
const uncut = cut(itsTopic, (one: MessageDetails) => ({ one }));
const redacted = cut(itsTopic, (one: MessageDetails, _viewer, redact) => shownMessage(one, redact));

/** Never called: it is compiled. */
export const COMPILED = () => [
  route('look', itsTopic, async ({ queues }, _, { topic }) => queues.admin.stats(topic)),
  // @ts-expect-error who may ask is missing
  route(itsTopic, async () => ({})),
  // @ts-expect-error what its viewer gets is missing
  route('look', async () => ({})),
  // @ts-expect-error there is no such action
  route('cancle', noTopic, async () => ({})),
  // @ts-expect-error who asks is nothing that a route decides by
  route('look', noTopic, async ({ viewer }) => ({ viewer })),
  // @ts-expect-error it has a topic only if its viewer sees that
  route('look', noTopic, async ({ queues }, { topic }) => queues.admin.stats(topic)),
  // @ts-expect-error its payload is as it is stored
  route('look', itsTopic, stored),
  // @ts-expect-error so are theirs
  route('look', itsTopic, async () => ({ found: { messages: [message] } })),
  // @ts-expect-error so is what is left of it
  route('look', uncut, stored),
  route('look', redacted, stored),
];

it('what a route is given has no topic under its name', () => {
  const given = new Given({ topic: 'jobs', id: '1' });
  expect([given.topic, given.optionalText('topic'), given.text('id')]).toEqual(['jobs', undefined, '1']);
});
