import type { Scene } from '../fleet/scene.js';
import { TOPICS, publishedTopics } from '../fleet/topics.js';
import { drawMessage } from '../work/messages.js';
import type { Payload } from '../work/payload.js';
import { PAUSE_AFTER_FAILURE, PAUSE_WHILE_MANY_WAIT } from '../work/producers.js';
import { exponential } from '../world/accidents.js';
import type { Answered, HttpClient } from './client.js';

/** Publishes one message after the other through gateways, each until it is known to be stored. */
export async function publishOverHttp(scene: Scene, client: HttpClient, number: number): Promise<void> {
  const { rules, server, faults } = scene;
  const { random } = client;
  const topics = publishedTopics(scene.topics);
  if (topics.length === 0) return;
  const topic = random.pick(topics);
  const key = `${topic}-http-${number}`;
  for (let index = 0; !scene.isEnding; index++) {
    while (rules.messages.waiting(topic) >= (TOPICS[topic]?.most ?? 0)) await client.sleep(PAUSE_WHILE_MANY_WAIT);
    const drawn = drawMessage(scene, random, { topic, key, index, lag: 0 });
    await publish(scene, client, topic, { ...drawn.payload, earliest: server.now() });
    await client.sleep(exponential(random, faults.pause));
  }
}

async function publish({ rules }: Scene, client: HttpClient, topic: string, payload: Payload): Promise<void> {
  const { id, key } = payload;
  const path = `/v1/topics/${topic}/messages`;
  rules.publishing(topic, payload);
  // However often it is asked for with one key, it is published once, and is not stored again after it was handled.
  rules.publishEnded(id);
  const named = { path, body: { payload, id, key }, key: client.nextKey() };
  let answered = await client.askAgain(named, PAUSE_AFTER_FAILURE);
  while (!answered) {
    rules.publishing(topic, payload);
    const again = await client.ask({ path, body: { payload, id, key, onDuplicate: 'ignore' } });
    rules.publishEnded(id);
    if (again?.status === 201) answered = again;
    else await client.sleep(PAUSE_AFTER_FAILURE);
  }
  note(rules, id, answered);
}

function note(rules: Scene['rules'], id: string, { status, body }: Answered): void {
  if (status === 201) rules.published(id, Date.parse((body as { readonly dueAt: string }).dueAt));
  else rules.refused(id, new Error(`${status}: ${JSON.stringify(body)}`));
}
