/** The token that a delivery would have if it shared no record: with its number, and not with its place. */
export function numberedToken(token: string): string {
  const [, epoch, first, place] = /^(.*\.)(\d+)\+(\d+)$/.exec(token) ?? [];
  return epoch === undefined ? token : `${epoch}${Number(first) + Number(place) - 1}`;
}
