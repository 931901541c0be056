export function programPath(command: string): string;
export function tryToInstallPrograms(): Promise<void>;
