import { ConsoleLogger, Injectable } from '@nestjs/common';
import { CorrelationContext } from './correlation.context.js';

/** Nest's logger, with the correlation id in each line that has one: whoever logs need not know of it. */
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
