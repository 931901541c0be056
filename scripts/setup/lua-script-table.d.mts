/** What `lib/broker/redis/lua/script-table.ts` has to be. */
export function scriptTable(): string;
