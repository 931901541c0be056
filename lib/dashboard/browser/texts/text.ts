import { computed } from '@preact/signals';
import { chinese } from './chinese.js';
import { type Texts, english } from './english.js';
import { language } from './language.js';

const texts = computed<Texts>(() => (language.value === 'zh' ? chinese : english));

/** Returns the texts in the language that the user has chosen. */
export function text(): Texts {
  return texts.value;
}
