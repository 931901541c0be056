import { clearTopic } from '../clear-topic.js';
import type { AddCommand } from '../command.js';

export const purge: AddCommand = (program, cli) =>
  clearTopic(program, cli, {
    name: 'purge',
    singular: 'dead letter',
    summary: 'remove every dead letter',
    description: 'Removes every dead letter of a topic, also those that die meanwhile. It asks first.',
    clear: (admin, topic, call) => admin.purge(topic, call),
  });
