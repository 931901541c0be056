import type { ComponentChildren, JSX } from 'preact';
import { look, useLook } from './api.js';
import { ActionButton } from './controls.js';
import { useKept } from './history-steps.js';
import type { Json } from './json.js';
import { Shown } from './parts.js';
import { text } from './texts/text.js';

/** A page of rows. */
interface Page<Row> {
  readonly rows: readonly Row[];
  readonly cursor: string | undefined;
}

/**
 * Rows page by page. A single first page follows changes. Once there are others it stays as it is, since the next one begins where it
 * ended: rows would get lost between them.
 */
export function Pages<Answer, Row>({
  pathOf,
  toPage,
  children,
}: {
  pathOf: (cursor?: string) => string;
  toPage: (answer: Json<Answer>) => Page<Row>;
  children: (rows: readonly Row[], hasMore: boolean) => ComponentChildren;
}): JSX.Element {
  const t = text();
  const latest = useLook<Answer>(pathOf());
  const [loaded, setLoaded] = useKept<readonly Page<Row>[]>(`pages of ${pathOf()}`, []);
  return (
    <Shown look={latest}>
      {(answer) => {
        const first = toPage(answer);
        const pages = loaded.length === 0 ? [first] : loaded;
        const cursor = pages.at(-1)?.cursor;
        const more = async (): Promise<void> => {
          let next: Page<Row> = { rows: [], cursor };
          // A page of a search may have found nothing yet.
          while (next.rows.length === 0 && next.cursor !== undefined) {
            next = toPage(await look<Answer>(pathOf(next.cursor)));
          }
          setLoaded([...pages, next]);
        };
        return (
          <>
            <div role="status">
              {JSON.stringify(pages[0]) !== JSON.stringify(first) && (
                <button type="button" class="button button-plain news" onClick={() => setLoaded([])}>
                  {t.state.news}
                </button>
              )}
            </div>
            {children(
              pages.flatMap(({ rows }) => rows),
              cursor !== undefined,
            )}
            {cursor !== undefined && (
              <footer class="card-foot">
                <ActionButton run={more}>{t.state.more}</ActionButton>
              </footer>
            )}
          </>
        );
      }}
    </Shown>
  );
}
