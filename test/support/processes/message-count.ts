/** The number of messages in tests of operated fleets: few in `npm test`, many in `npm run test:scale`. */
export const MESSAGE_COUNT = Number(process.env['OPERATED_MESSAGES'] ?? 20_000);
