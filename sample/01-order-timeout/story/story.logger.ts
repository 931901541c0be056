import { ConsoleLogger } from '@nestjs/common';

/**
 * Logs nothing while the story plays, since the timeline shows the dead letter that is logged as an error. If the story does
 * not come true, it prints what it held back.
 */
export class StoryLogger extends ConsoleLogger {
  private heldBack: (() => void)[] | undefined = [];

  constructor() {
    super({ logLevels: ['warn', 'error', 'fatal'] });
  }

  override warn(message: unknown, ...details: unknown[]): void {
    this.printOrHold(() => super.warn(message, ...details));
  }

  override error(message: unknown, ...details: unknown[]): void {
    this.printOrHold(() => super.error(message, ...details));
  }

  endStory(cameTrue: boolean): void {
    if (!cameTrue) this.heldBack?.forEach((print) => print());
    this.heldBack = undefined;
  }

  private printOrHold(print: () => void): void {
    if (this.heldBack) this.heldBack.push(print);
    else print();
  }
}
