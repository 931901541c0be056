export function languagePath(command: string): string;
export function tryToInstallLanguages(): Promise<void>;
