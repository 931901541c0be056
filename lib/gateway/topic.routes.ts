import { type Route, route } from './route.js';

export const TOPIC_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/v1/topics',
    name: 'listTopics',
    summary: 'List the topics that are served and that you may read',
    right: 'read',
    answers: { 200: { description: 'Their names.', of: ['Topics'] } },
    problems: [],
    async run(call) {
      const topics: string[] = [];
      for (const topic of call.topics) if (await call.may(topic, 'read')) topics.push(topic);
      return { status: 200, content: { topics } };
    },
  }),
  route({
    method: 'GET',
    path: '/v1/topics/{topic}/stats',
    name: 'getTopicStats',
    summary: 'Count what a topic holds',
    right: 'read',
    answers: { 200: { description: 'In sum and by partition.', of: ['TopicStats'] } },
    problems: [],
    run: async ({ queues, topic }) => ({ status: 200, content: await queues.admin.stats(topic) }),
  }),
];
