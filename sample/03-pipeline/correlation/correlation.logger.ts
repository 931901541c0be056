import { ConsoleLogger, Injectable } from '@nestjs/common';
import { CorrelationContext } from './correlation.context.js';

/** Nest's logger, which adds the correlation id, so that the code that logs need not know about it. */
@Injectable()
export class CorrelationLogger extends ConsoleLogger {
  constructor(private readonly correlation: CorrelationContext) {
    super();
  }

  protected override formatContext(context: string): string {
    const { id } = this.correlation;
    return super.formatContext(id === undefined ? context : `${context}, ${id}`);
  }
}
