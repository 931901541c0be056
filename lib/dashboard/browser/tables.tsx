import type { ComponentChildren, JSX } from 'preact';

export interface Column<Row> {
  readonly name: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Whether it has numbers, which are on the right. */
  readonly isNumber?: boolean;
  /** Whether it is left out on a narrow screen. */
  readonly isSecondary?: boolean;
}

export function Table<Row>({
  label,
  columns,
  rows,
  keyOf,
}: {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
}): JSX.Element {
  const classOf = ({ isNumber, isSecondary }: Column<Row>): string =>
    `${isNumber ? 'number' : ''} ${isSecondary ? 'secondary' : ''}`;
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" class={classOf(column)}>
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.name} class={classOf(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Tabs that are links, so that a tab has an address. */
export function Tabs<T extends string>({
  label,
  tabs,
  chosen,
  href,
}: {
  label: string;
  tabs: readonly { readonly id: T; readonly name: ComponentChildren }[];
  chosen: T;
  href: (id: T) => string;
}): JSX.Element {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ id, name }) => (
        <a key={id} href={href(id)} aria-current={id === chosen ? 'page' : undefined}>
          {name}
        </a>
      ))}
    </nav>
  );
}
