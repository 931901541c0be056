import { fromStoredId } from '../../../lib/messages/stored-id.js';
import type { SeededRandom } from '../../support/random.js';
import type { Scene } from './scene.js';
import { OPERATED, publishedTopics } from './topics.js';

/** What other programs leave in the place of an envelope, or of a record. */
const ENVELOPES = ['', '{', '"hello"', '[1]', '[-1,1]', '[1,1,{"a":0}]', '[1e300,1]'];
const RECORDS = ['', 'x', '{', '9'.repeat(40)];

interface Kind {
  /** The key that it is in, behind the hash tag of a partition. */
  readonly key: string;
  readonly texts: readonly string[];
  readonly what?: 'message' | 'deliveries';
  /** The topics of which it says what nobody else remembers, such as the due time of a head that a limit of its key holds back. */
  readonly except?: readonly string[];
}

const KINDS: readonly Kind[] = [
  { key: 'messages', texts: ENVELOPES, what: 'message' },
  { key: 'deliveries', texts: RECORDS, what: 'deliveries', except: [OPERATED, 'expiring', 'ordered-rated'] },
  { key: 'errors', texts: RECORDS },
];

/** Another program writes over a record of a message. */
export function damage({ world, server, rules, topics }: Scene, random: SeededRandom): void {
  const { key: name, texts, what, except = [] } = random.pick(KINDS);
  const meant = [...publishedTopics(topics), OPERATED].filter((topic) => !except.includes(topic));
  const keys = server.data.keys.filter((key) => {
    const [, topic = '', end] = /^\{dq:(.*):\d+\}:(.*)$/.exec(key) ?? [];
    return end === name && meant.includes(topic);
  });
  if (keys.length === 0) return;
  const key = random.pick(keys);
  const storedId = random.pick(server.data.call('HKEYS', key) as string[]);
  const { id } = fromStoredId(storedId);
  if (!rules.messages.find(id)) return;
  server.data.call('HSET', key, storedId, random.pick(texts));
  world.trace('redis', `another program damages ${id} in ${key}`);
  if (what) rules.damaged(id, what);
}
