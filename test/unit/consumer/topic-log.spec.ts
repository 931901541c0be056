import { describe, expect, it } from 'vitest';
import { TopicLog } from '../../../lib/consumer/topic-log.js';

function start() {
  const lines: string[] = [];
  const log = { log: (line: string) => void lines.push(line), warn: () => {}, error: () => {} };
  return { lines, topic: new TopicLog(log, 'jobs', 8) };
}

describe('TopicLog', () => {
  it.each([
    { held: [3], list: "Owns 1 of 8 partitions of topic 'jobs': 3" },
    { held: [0, 1, 2, 3, 4, 5, 6, 7], list: "Owns 8 of 8 partitions of topic 'jobs': 0-7" },
    { held: [0, 2, 3, 5, 7], list: "Owns 5 of 8 partitions of topic 'jobs': 0, 2-3, 5, 7" },
  ])('names partitions that follow each other as a range: $held', ({ held, list }) => {
    const { lines, topic } = start();
    topic.owns(held);
    expect(lines).toEqual([list]);
  });

  it('says what is owned when it has changed, and nothing while there is none', () => {
    const { lines, topic } = start();
    for (const held of [[], [0, 1], [0, 1], [1], [], []]) topic.owns(held);
    expect(lines).toEqual([
      "Owns 2 of 8 partitions of topic 'jobs': 0-1",
      "Owns 1 of 8 partitions of topic 'jobs': 1",
      "Owns 0 of 8 partitions of topic 'jobs'",
    ]);
  });

  it('says once that the topic is paused, and once that it goes on', () => {
    const { lines, topic } = start();
    for (const index of [0, 1, 2]) topic.sawPaused(index, false);
    for (const index of [0, 1, 2]) topic.sawPaused(index, true);
    for (const index of [0, 1, 2]) topic.sawPaused(index, false);
    expect(lines).toEqual(["Topic 'jobs' is paused", "Topic 'jobs' goes on"]);
  });

  it('forgets the pause of partitions that are gone, and sees it anew', () => {
    const { lines, topic } = start();
    topic.owns([0, 1]);
    topic.sawPaused(0, true);
    topic.sawPaused(1, true);
    topic.owns([1]);
    topic.sawPaused(1, false);
    expect(lines.slice(-2)).toEqual(["Owns 1 of 8 partitions of topic 'jobs': 1", "Topic 'jobs' goes on"]);
    topic.sawPaused(1, true);
    topic.owns([]);
    topic.owns([1]);
    topic.sawPaused(1, true);
    expect(lines.filter((line) => line.endsWith('is paused'))).toHaveLength(3);
  });
});
