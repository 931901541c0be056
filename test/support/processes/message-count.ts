/** How many messages a fleet is operated with: few in `npm test`, many in `npm run test:scale`. */
export const MESSAGE_COUNT = Number(process.env['OPERATED_MESSAGES'] ?? 20_000);
