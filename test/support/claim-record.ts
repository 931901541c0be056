/** The stored ids in a record that deliveries share: of those that have not ended. */
export function idsInClaim(record: string): string[] {
  return record
    .split('\0\0')
    .slice(1)
    .filter((id) => id !== '');
}

/** Tokens as scripts are sent them, one a delivery, with the number of the delivery in place of its place in a shared record. */
export function numberedTokens(tokens: string): string[] {
  return tokens
    .trimEnd()
    .split(' ')
    .flatMap((token) => {
      const [, record = '', first, last = first] = /^(.*)\+(\d+)(?:-(\d+))?$/.exec(token) ?? [];
      if (first === undefined) return [token];
      const count = Number(last) - Number(first) + 1;
      return Array.from({ length: count }, (_, i) => numberedToken(`${record}+${Number(first) + i}`));
    });
}

/** The token that a delivery would have if it shared no record. */
export function numberedToken(token: string): string {
  const [, epoch, first, place] = /^(.*\.)(\d+)\+(\d+)$/.exec(token) ?? [];
  return epoch === undefined ? token : `${epoch}${Number(first) + Number(place) - 1}`;
}
