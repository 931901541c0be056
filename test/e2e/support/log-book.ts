import type { LoggerService } from '@nestjs/common';

/** Keeps what an application logs instead of printing it. */
export class LogBook implements LoggerService {
  readonly errors: string[] = [];
  readonly warnings: string[] = [];
  readonly infos: string[] = [];

  log(message: unknown): void {
    this.infos.push(String(message));
  }

  warn(message: unknown): void {
    this.warnings.push(String(message));
  }

  error(message: unknown): void {
    this.errors.push(String(message));
  }
}
