/** What the library needs of a logger. Nest's `LoggerService` fits. */
export interface Log {
  debug?(message: string): void;
  log(message: string): void;
  warn(message: string): void;
  error(message: string, stack?: string): void;
}
