import { clearTopic } from '../clear-topic.js';
import type { AddCommand } from '../command.js';

export const drain: AddCommand = (program, cli) =>
  clearTopic(program, cli, {
    name: 'drain',
    singular: 'waiting message',
    summary: 'remove every message that waits',
    description:
      'Removes every message that waits, also those that wait for their next attempt. What is in flight or dead stays. It asks first.',
    clear: (admin, topic, call) => admin.drain(topic, call),
  });
