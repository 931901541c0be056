import { expect, it } from 'vitest';
import type { MessageDetails } from '../../../lib/admin/message-details.js';
import { shownMessage } from '../../../lib/dashboard/redaction.js';
import { Given, route } from '../../../lib/dashboard/route.js';
import { cut, itsTopic, noTopic } from '../../../lib/dashboard/sees.js';

declare const message: MessageDetails;

/** Never called: it is compiled. */
export const COMPILED = () => [
  route({ right: 'look', sees: itsTopic, run: async ({ queues }, _, { topic }) => queues.admin.stats(topic) }),
  // @ts-expect-error who may ask is missing
  route({ sees: itsTopic, run: async () => ({}) }),
  // @ts-expect-error what its viewer gets is missing
  route({ right: 'look', run: async () => ({}) }),
  // @ts-expect-error there is no such action
  route({ right: 'cancle', sees: noTopic, run: async () => ({}) }),
  // @ts-expect-error who asks is nothing that a route decides by
  route({ right: 'look', sees: noTopic, run: async ({ viewer }) => ({ viewer }) }),
  // @ts-expect-error it has a topic only if its viewer sees that
  route({ right: 'look', sees: noTopic, run: async ({ queues }, { topic }) => queues.admin.stats(topic) }),
  // @ts-expect-error its payload is as it is stored
  route({ right: 'look', sees: itsTopic, run: async () => message }),
  // @ts-expect-error so are theirs
  route({ right: 'look', sees: itsTopic, run: async () => ({ found: { messages: [message] } }) }),
  // @ts-expect-error so is what is left of it
  route({ right: 'look', sees: cut(itsTopic, (one: MessageDetails) => ({ one })), run: async () => message }),
  route({
    right: 'look',
    sees: cut(itsTopic, (one: MessageDetails, _viewer, redact) => shownMessage(one, redact)),
    run: async () => message,
  }),
];

it('what a route is given has no topic under its name', () => {
  const given = new Given({ topic: 'jobs', id: '1' });
  expect([given.topic, given.optionalText('topic'), given.text('id')]).toEqual(['jobs', undefined, '1']);
});
