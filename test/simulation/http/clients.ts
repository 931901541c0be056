import type { Scene } from '../fleet/scene.js';
import { TOPICS } from '../fleet/topics.js';
import { HttpClient } from './client.js';
import { publishOverHttp } from './publishers.js';
import { receiveOverHttp } from './receivers.js';

const PUBLISHERS = 3;

/** The programs that use the gateways of a fleet. */
export function serveClients(scene: Scene): void {
  const run = (what: string, work: (client: HttpClient) => Promise<void>): void => {
    work(new HttpClient(scene, what)).catch((error: unknown) => scene.rules.failed(what, error));
  };
  for (let number = 0; number < PUBLISHERS; number++) {
    run(`publisher ${number}`, async (client) => publishOverHttp(scene, client, number));
  }
  for (const topic of scene.topics.filter((one) => TOPICS[one]?.received)) {
    run(`receiver of ${topic}`, async (client) => receiveOverHttp(scene, client, topic));
  }
}
