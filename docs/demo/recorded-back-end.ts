import { effect, untracked } from '@preact/signals';
import { type Language, language } from '../../lib/dashboard/browser/texts/language.js';
import type { Told } from '../../lib/dashboard/watched-look.js';
import { LIVE, type Recording, nameOf, recorded, replayed, unpacked } from './recording.js';
import recording from './recording.json?raw';

const NOT_RECORDED: Readonly<Record<Language, string>> = {
  en: 'This demo shows what was recorded of a sample shop, and this was not. Go back, or open the dashboard on a Redis of yours.',
  zh: '此演示只展示从示例商店录制的内容，这里没有录制。可返回上一页，或连接自己的 Redis 打开面板。',
};

const { looks, events } = JSON.parse(recording) as Recording;

/** As if it was recorded now. */
const opened = Date.now();

type Answer = Omit<Told, 'look'>;

function answerTo(look: string): Answer {
  const answer = looks[recorded(nameOf(look), opened)];
  if (answer === undefined) return { error: { code: 'NOT_RECORDED', message: NOT_RECORDED[language.value] } };
  return { answer: unpacked(JSON.parse(replayed(JSON.stringify(answer), opened))) };
}

/** Tells the recorded events again and again, with the time that was between them; answers what ends that. */
function replay(look: string, tell: (answer: Answer) => void): () => void {
  const asked = new URLSearchParams(look.slice(LIVE.length));
  const [topic, kind] = [asked.get('topic'), asked.get('kind')];
  let timer: ReturnType<typeof setTimeout>;
  const begin = (): void => {
    tellFirst(JSON.parse(replayed(JSON.stringify(events), Date.now())) as Recording['events']);
  };
  const tellFirst = ([event, ...others]: Recording['events']): void => {
    if (!event) return begin();
    if ((kind ?? event.kind) === event.kind && (topic ?? event.topic) === event.topic) tell({ answer: event });
    const [next = event] = others;
    timer = setTimeout(() => tellFirst(others), Date.parse(next.at) - Date.parse(event.at));
  };
  begin();
  return () => clearTimeout(timer);
}

/** The stream of `api/watch`. What is recorded never changes, but the words for what is not follow the language. */
class RecordedStream extends EventTarget {
  static readonly CLOSED = 2;
  readonly readyState = 1;
  #ends: readonly (() => void)[] = [];

  constructor(url: string) {
    super();
    // Whoever opens it listens to it only then.
    queueMicrotask(() => {
      this.dispatchEvent(new Event('open'));
      const asked = new URL(url, location.href).searchParams.getAll('look');
      this.#ends = asked.map((path, look) => {
        const tell = (answer: Answer): void => {
          const data = JSON.stringify({ look, ...answer } satisfies Told);
          this.dispatchEvent(new MessageEvent('message', { data }));
        };
        if (path.split('?')[0] === LIVE) return replay(path, tell);
        return effect(() => {
          const answer = answerTo(path);
          untracked(() => tell(answer));
        });
      });
    });
  }

  close(): void {
    for (const end of this.#ends) end();
  }
}

async function recordedAnswer(look: string): Promise<Response> {
  const { answer, error } = answerTo(look);
  return error ? Response.json({ error }, { status: 404 }) : Response.json(answer);
}

// In place of a server: the pages are those of the product.
Object.assign(globalThis, { fetch: recordedAnswer, EventSource: RecordedStream });
