import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { ConsumptionLog, TopicLog } from '../../../lib/consumer/consumption-log.js';

function start() {
  const lines: string[] = [];
  const log = { log: (line: string) => void lines.push(line), warn: () => {}, error: () => {} };
  const consumption = new ConsumptionLog(log, new ManualClock(), 1);
  consumption.knows('jobs', 8);
  return { lines, topic: new TopicLog(consumption, 'jobs') };
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

  it('logs what is owned when it has changed, and nothing while there is none', () => {
    const { lines, topic } = start();
    for (const held of [[], [0, 1], [0, 1], [1], [], []]) topic.owns(held);
    expect(lines).toEqual([
      "Owns 2 of 8 partitions of topic 'jobs': 0-1",
      "Owns 1 of 8 partitions of topic 'jobs': 1",
      "Owns 0 of 8 partitions of topic 'jobs'",
    ]);
  });

  it('logs once that the topic is paused, and once that it is resumed', () => {
    const { lines, topic } = start();
    for (const index of [0, 1, 2]) topic.sawPaused(index, false);
    for (const index of [0, 1, 2]) topic.sawPaused(index, true);
    for (const index of [0, 1, 2]) topic.sawPaused(index, false);
    expect(lines).toEqual(["Topic 'jobs' is paused", "Topic 'jobs' goes on"]);
  });

  it('forgets the pause of partitions that are gone, and notices it again', () => {
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

/** The topics of a process, and what it logs at each level. */
function consume(count: number) {
  const clock = new ManualClock();
  const lines: string[] = [];
  const details: string[] = [];
  const log = {
    log: (line: string) => void lines.push(line),
    debug: (line: string) => void details.push(line),
    warn: (line: string) => void lines.push(line),
    error: () => {},
  };
  const consumption = new ConsumptionLog(log, clock, count);
  const topics = Array.from({ length: count }, (_, i) => {
    consumption.handles('Jobs.work', `jobs-${i}`);
    consumption.knows(`jobs-${i}`, 8);
    return new TopicLog(consumption, `jobs-${i}`);
  });
  const own = (indexes: number[]): void => {
    for (const topic of topics) topic.owns(indexes);
  };
  return { clock, lines, details, consumption, topics, own };
}

describe('ConsumptionLog', () => {
  const ALL = [0, 1, 2, 3, 4, 5, 6, 7];

  it('has a line for each of two topics, at boot and when they move', () => {
    const { clock, lines, details, consumption, own } = consume(2);
    own(ALL);
    consumption.started();
    own([0, 1]);
    expect(lines).toEqual([
      "Jobs.work handles topic 'jobs-0'",
      "Jobs.work handles topic 'jobs-1'",
      "Owns 8 of 8 partitions of topic 'jobs-0': 0-7",
      "Owns 8 of 8 partitions of topic 'jobs-1': 0-7",
      "Owns 2 of 8 partitions of topic 'jobs-0': 0-1",
      "Owns 2 of 8 partitions of topic 'jobs-1': 0-1",
    ]);
    expect(details).toEqual([]);
    expect(clock.nextTimerAt).toBeUndefined();
  });

  it('has one line for fifty topics at boot, and one for each time they move, and the details at debug', async () => {
    const { clock, lines, details, consumption, own } = consume(50);
    own(ALL);
    consumption.started();
    expect(lines).toEqual(['Consumes 50 topics; owns 400 of 400 partitions']);
    expect(details).toHaveLength(100);
    expect(details[0]).toBe("Jobs.work handles topic 'jobs-0'");
    expect(details.at(-1)).toBe("Owns 8 of 8 partitions of topic 'jobs-49': 0-7");

    own([0, 1, 2, 3, 4]);
    await clock.advance(1000);
    own([0, 1, 2, 3]);
    await clock.advance(10_000);
    own([]);
    await clock.advance(10_000);
    expect(lines.slice(1)).toEqual([
      'Owns 200 of 400 partitions of 50 topics',
      'Owns 0 of 400 partitions of 50 topics',
    ]);
    expect(details).toHaveLength(250);
  });

  it('counts the partitions that others own, and has no timer once it is stopped', () => {
    const { clock, lines, consumption, own } = consume(3);
    consumption.started();
    own([0]);
    consumption.stop();
    expect(lines).toEqual(['Consumes 3 topics; owns 0 of 24 partitions']);
    expect(clock.nextTimerAt).toBeUndefined();
  });

  it('has one line for fifty topics that are paused, one when they go on, and the details at debug', async () => {
    const { clock, lines, details, topics } = consume(50);
    details.length = 0;
    for (const topic of topics) topic.sawPaused(0, true);
    expect(lines).toEqual([]);
    await clock.advance(2000);
    for (const topic of topics) topic.sawPaused(0, false);
    await clock.advance(2000);
    expect(lines).toEqual(['50 topics are paused', '50 topics go on']);
    expect(details).toHaveLength(100);
    expect(details[0]).toBe("Topic 'jobs-0' is paused");
  });

  it('names the topic if it is the only one of fifty', async () => {
    const { clock, lines, topics } = consume(50);
    topics[7]?.sawPaused(0, true);
    topics[7]?.cannotMove('it is gone');
    await clock.advance(2000);
    expect(lines).toEqual([
      "Topic 'jobs-7' is paused",
      "Partitions of topic 'jobs-7' cannot be taken or given up: it is gone",
    ]);
  });

  it('has one line for fifty topics whose partitions cannot move, an outage', async () => {
    const { clock, lines, topics } = consume(50);
    for (let repeat = 0; repeat < 20; repeat++) {
      for (const [i, topic] of topics.entries()) topic.cannotMove(`failure ${i}`);
      await clock.advance(250);
    }
    expect(lines).toEqual(['Partitions of 50 topics cannot be taken or given up: failure 49']);
    for (const topic of topics) topic.canMove();
    topics[0]?.cannotMove('again');
    await clock.advance(2000);
    expect(lines[1]).toBe("Partitions of topic 'jobs-0' cannot be taken or given up: again");
  });

  it('has a line at once for each of two topics whose partitions cannot move', () => {
    const { lines, topics } = consume(2);
    lines.length = 0;
    for (const topic of topics) topic.cannotMove('gone');
    expect(lines).toEqual([
      "Partitions of topic 'jobs-0' cannot be taken or given up: gone",
      "Partitions of topic 'jobs-1' cannot be taken or given up: gone",
    ]);
  });

  it('logs what it has gathered when it is stopped', () => {
    const { clock, lines, topics, consumption } = consume(3);
    for (const topic of topics) topic.sawPaused(0, true);
    consumption.stop();
    consumption.stop();
    expect(lines).toEqual(['3 topics are paused']);
    expect(clock.nextTimerAt).toBeUndefined();
  });
});
