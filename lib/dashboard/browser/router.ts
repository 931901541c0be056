import { computed, signal } from '@preact/signals';
import { noteStep } from './history-steps.js';

/** Place that the fragment of the address names: `#/topics/orders?tab=dead`. */
export interface Place {
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

const fragment = signal(location.hash);
window.addEventListener('hashchange', () => {
  noteStep(fragment.value);
  fragment.value = location.hash;
});

export const place = computed<Place>(() => {
  const [path = '', query = ''] = fragment.value.replace(/^#\/?/, '').split('?', 2);
  return { parts: path.split('/').filter(Boolean).map(decoded), query: new URLSearchParams(query) };
});

/** Returns the address of a place. Undefined parameters are left out. */
export function href(parts: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  const search = given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
  return `#/${parts.map(encodeURIComponent).join('/')}${search}`;
}

/** Returns the address of this place with other parameters; those that are `undefined` are left out. */
export function hrefWith(changes: Readonly<Record<string, string | undefined>>): string {
  const { parts, query } = place.value;
  return href(parts, { ...Object.fromEntries(query), ...changes });
}

/** Gives this place other parameters without a step in the history, for changes with each key press. */
export function replaceQuery(changes: Readonly<Record<string, string | undefined>>): void {
  history.replaceState(history.state, '', hrefWith(changes));
  fragment.value = location.hash;
}

/** Returns the address of a message. */
export function messageHref(topic: string, { id, key }: { id: string; key: string }): string {
  return href(['topics', topic, 'messages', id], { key: key === id ? undefined : key });
}

export function go(parts: readonly string[], query?: Readonly<Record<string, string | undefined>>): void {
  location.hash = href(parts, query);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
