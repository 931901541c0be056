import { computed, effect, signal } from '@preact/signals';
import { storedChoice } from './stored.js';

export const THEMES = ['system', 'light', 'dark'] as const;

export const theme = storedChoice('theme', THEMES, 'system');

const prefersDark = matchMedia('(prefers-color-scheme: dark)');
const systemIsDark = signal(prefersDark.matches);
prefersDark.addEventListener('change', ({ matches }) => {
  systemIsDark.value = matches;
});

export const isDark = computed(() => (theme.value === 'system' ? systemIsDark.value : theme.value === 'dark'));

effect(() => {
  document.documentElement.dataset['theme'] = isDark.value ? 'dark' : 'light';
});

/** Returns a colour of the style sheet, for drawings. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
