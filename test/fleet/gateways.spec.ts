import { afterEach, expect, it } from 'vitest';
import { startAlternatingBalancer } from '../support/gateway/alternating-balancer.js';
import { type Gateway, TOKEN } from '../support/gateway/gateway.js';
import { OrderedSteps } from '../support/gateway/ordered-steps.js';
import { type StandaloneGateway, startGatewayProgram } from '../support/gateway/standalone-gateway.js';
import { SeededRandom } from '../support/random.js';
import { report } from '../support/readings/statistics.js';
import { startRedis } from '../support/servers/redis-server.js';
import { until } from '../support/waiting.js';

const WORKERS = ['w1', 'w2', 'w3', 'w4'];
const PLACES = [0, 1] as const;

/** Of what the killed one had: no worker takes nearly as long to settle what it has. */
const LEASE = 8000;

const opened: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close();
});

function closedAtTheEnd<T extends Pick<Gateway, 'close'>>(one: T): T {
  opened.push(async () => one.close());
  return one;
}

it('of two gateways behind a balancer one is killed: nothing is lost or out of order, and only what it had comes again', async () => {
  const random = new SeededRandom();
  const redis = await startRedis();
  opened.push(async () => redis.stop());
  const open = async (): Promise<StandaloneGateway> => {
    const topicOptions = { partitions: 4, ordered: true };
    // By default it takes a dozen seconds until the partitions of who was killed are taken over.
    const settings = { redisUrl: redis.url, topics: ['jobs'], topicOptions, maxIdleWait: 1000 };
    return closedAtTheEnd(await startGatewayProgram(settings));
  };
  const gateways = [await open(), await open()] as const;
  const balancer = closedAtTheEnd(await startAlternatingBalancer(gateways[0].url, gateways[1].url));
  const url = `${balancer.url}/delay-queue`;
  const steps = new OrderedSteps({ url, token: TOKEN, topic: 'jobs', lease: LEASE, wait: 1000 });
  opened.push(async () => steps.end());

  await steps.publish(0, 9);
  const beganAt = performance.now();
  const working = steps.work(WORKERS);
  const place = random.pick(PLACES);
  const moment = random.integer(1, 50);
  await until(`${moment} to be done`, () => steps.count >= moment);
  await gateways[place].program.kill();
  balancer.gateways[place] = new URL((await open()).url);
  await working;

  const took = Math.round(performance.now() - beganAt);
  // Of what a worker got nothing came again: not even what the one that was killed had handed out.
  expect(steps.delivered).toEqual(OrderedSteps.expected);
  const stats = await fetch(`${url}/v1/topics/jobs/stats`, { headers: { authorization: `Bearer ${TOKEN}` } });
  const { counters, ...counts } = (await stats.json()) as { counters: { delivered: number } };
  expect(counts).toMatchObject({ scheduled: 0, inFlight: 0, dead: 0 });
  const got = [...steps.delivered.values()].flat().length;
  report(
    `60 ordered messages, gateway ${place} killed after ${moment}: ${took} ms; it had ${steps.unanswered} requests, and ` +
      `${counters.delivered - got} deliveries that nobody got`,
  );
});
