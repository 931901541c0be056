import { effect } from '@preact/signals';
import { storedChoice } from '../stored.js';

export const LANGUAGES = { en: 'English', zh: '中文' } as const;

export type Language = keyof typeof LANGUAGES;

export const language = storedChoice<Language>(
  'language',
  Object.keys(LANGUAGES) as Language[],
  navigator.language.startsWith('zh') ? 'zh' : 'en',
);

effect(() => {
  document.documentElement.lang = language.value;
});
