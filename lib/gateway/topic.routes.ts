import type { Route } from './route.js';
import { ref } from './schema.js';

export const TOPIC_ROUTES: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/topics',
    name: 'listTopics',
    summary: 'List the topics that are served and that you may read',
    right: 'read',
    answers: { 200: { description: 'Their names.', schema: ref('Topics') } },
    problems: [],
    run: async (call) => {
      const topics: string[] = [];
      for (const topic of call.served.keys()) if (await call.may(topic, 'read')) topics.push(topic);
      return { status: 200, content: { topics } };
    },
  },
  {
    method: 'GET',
    path: '/v1/topics/{topic}/stats',
    name: 'getTopicStats',
    summary: 'Count what a topic holds',
    right: 'read',
    answers: { 200: { description: 'In sum and by partition.', schema: ref('TopicStats') } },
    problems: [],
    run: async ({ queues, path }) => ({ status: 200, content: await queues.admin.stats(path['topic'] as string) }),
  },
];
