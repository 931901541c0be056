import vm from 'node:vm';
import type { EmbeddedData } from '../../../lib/engines/embedded/data/embedded-data.js';
import type { EmbeddedScripts } from '../../../lib/engines/embedded/embedded-scripts.js';
import type { Translated } from '../../../lib/engines/embedded/translated-scripts.js';
import type { BullmqRedis } from '../../../tools/import-bullmq/index.js';
import { translate } from '../../../scripts/setup/lua-translator.mjs';
import type { Product } from '../product/evaluate.js';
import type { Link } from '../redis/link.js';
import type { Server } from '../redis/server.js';

type Scripts = EmbeddedScripts<'import'>;

/** What the import's scripts use beside what those of the store do; nobody reads the events of the queue. */
function beside({ data }: Server): EmbeddedData {
  const others: Pick<EmbeddedData, 'call'> = {
    call: (name, ...args) => {
      if (name === 'EXISTS') return args.filter((key) => data.keys.includes(key)).length;
      return name === 'XADD' ? '0-1' : data.call(name, ...args);
    },
  };
  return others as EmbeddedData;
}

/** The import's connection to the Redis of BullMQ, which is that of the fleet, over a link: its own scripts run as the store's do. */
export function bullmqConnection(product: Product, link: Link, server: Server): BullmqRedis {
  const { data } = server;
  const known = new Map<string, Scripts>();
  const scriptsOf = (source: string): Scripts => {
    let scripts = known.get(source);
    if (!scripts) {
      const code = translate(source, 'import');
      const translated = vm.compileFunction(`return ${code}`) as () => Translated<'import'>['import'];
      scripts = new product.EmbeddedScripts<'import'>(beside(server), { import: translated() });
      known.set(source, scripts);
    }
    return scripts;
  };
  const redis = {
    hgetall: async (key: string) => {
      const flat = data.call('HGETALL', key) as readonly string[];
      return Object.fromEntries(flat.flatMap((field, i) => (i % 2 === 0 ? [[field, flat[i + 1]]] : [])));
    },
    callBuffer: async (_eval: string, source: string, count: number, ...given: readonly (string | number)[]) => {
      const bytes = given.map((one) => Buffer.from(String(one)).toString('latin1'));
      const reply: unknown = scriptsOf(source).run('import', bytes.slice(0, count), bytes.slice(count));
      return toBuffers(reply);
    },
  };
  const send = async (command: (client: typeof redis) => Promise<unknown>, key?: string): Promise<unknown> =>
    link.send({ name: 'bullmq', key, about: () => '', adds: false, run: () => command(redis), onTime: () => {} });
  return { send } as unknown as BullmqRedis;
}

/** A reply as ioredis gives it to those who ask for bytes. */
function toBuffers(reply: unknown): unknown {
  if (Array.isArray(reply)) return reply.map(toBuffers);
  return typeof reply === 'string' ? Buffer.from(reply, 'latin1') : reply;
}
