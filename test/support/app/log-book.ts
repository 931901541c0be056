import type { LoggerService } from '@nestjs/common';

/** Keeps what an application logs instead of printing it. */
export class LogBook implements LoggerService {
  readonly errors: string[] = [];
  readonly warnings: string[] = [];
  readonly infos: string[] = [];
  readonly debugs: string[] = [];
  /** All lines in order, as `level context: message`. */
  readonly lines: string[] = [];

  log(message: unknown, context?: unknown): void {
    this.infos.push(String(message));
    this.lines.push(`log ${String(context)}: ${String(message)}`);
  }

  warn(message: unknown, context?: unknown): void {
    this.warnings.push(String(message));
    this.lines.push(`warn ${String(context)}: ${String(message)}`);
  }

  /** The last of the details is the context; a stack may be before it. */
  error(message: unknown, ...details: unknown[]): void {
    this.errors.push(String(message));
    this.lines.push(`error ${String(details.at(-1))}: ${String(message)}`);
  }

  debug(message: unknown, context?: unknown): void {
    this.debugs.push(String(message));
    this.lines.push(`debug ${String(context)}: ${String(message)}`);
  }
}
