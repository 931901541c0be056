/** Prints events when they happen. */
export class Timeline {
  private readonly startedAt = performance.now();

  heading(): void {
    this.print('time', 'late', 'order', 'what happened');
  }

  /** @param lateness milliseconds from the due time to the delivery */
  tell(order: string, what: string, lateness?: number): void {
    const seconds = (performance.now() - this.startedAt) / 1000;
    this.print(`${seconds.toFixed(3)} s`, lateness === undefined ? '' : `${lateness.toFixed(1)} ms`, order, what);
  }

  private print(time: string, late: string, order: string, what: string): void {
    console.log(`${time.padStart(9)}  ${late.padStart(8)}  ${order.padEnd(6)}  ${what}`);
  }
}
