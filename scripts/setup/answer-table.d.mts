/** What `lib/gateway/answer-table.ts` has to be. */
export function answerTable(): string;
