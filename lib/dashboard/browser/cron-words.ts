import { toString } from 'cronstrue';
import 'cronstrue/locales/zh_CN';
import { type Language, language } from './texts/language.js';

const LOCALES: Readonly<Record<Language, string>> = { en: 'en', zh: 'zh_CN' };

/** Returns a cron expression in words, such as 'At 06:00, Monday through Friday'; `undefined` if there are none for it. */
export function wordsOfCron(expression: string): string | undefined {
  try {
    return toString(expression, { locale: LOCALES[language.value], use24HourTimeFormat: true, verbose: true });
  } catch {
    return undefined;
  }
}
