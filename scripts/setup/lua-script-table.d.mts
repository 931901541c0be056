/** What `lib/store/lua/script-table.ts` has to be. */
export function scriptTable(): string;
