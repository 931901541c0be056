import { type Route, itsTopic, route } from './route.js';

export const TOPIC_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/v1/topics',
    name: 'listTopics',
    summary: 'List the topics that are served and that you may read',
    right: 'read',
    answers: { 200: { description: 'Their names.', of: ['Topics'] } },
    problems: [],
    async sees({ topics, may }) {
      const seen: string[] = [];
      for (const topic of topics) if (await may(topic)) seen.push(topic);
      return seen;
    },
    run: async ({ seen: topics }) => ({ status: 200, content: { topics } }),
  }),
  route({
    method: 'GET',
    path: '/v1/topics/{topic}/stats',
    name: 'getTopicStats',
    summary: 'Count what a topic holds',
    right: 'read',
    answers: { 200: { description: 'In sum and by partition.', of: ['TopicStats'] } },
    problems: [],
    sees: itsTopic,
    run: async ({ queues, seen }) => ({ status: 200, content: await queues.admin.stats(seen) }),
  }),
];
