/** The text of each file that is made, by its path. */
export function clientTypes(document: object): ReadonlyMap<string, string>;
