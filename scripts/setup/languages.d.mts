/** Where a language's command is; throws if it is not installed. */
export function languagePath(command: string): string;
