/** The library that fakes the time of day of a process it is preloaded into. */
export function faketimeLibrary(): string;
