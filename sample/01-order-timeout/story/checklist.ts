interface Result {
  readonly claim: string;
  readonly problem?: string;
}

/** The claims that the story has to prove. */
export class Checklist {
  private readonly results: Result[] = [];

  /**
   * @param proof rejects if the claim is not true
   * @returns the proof's result; undefined if it rejected
   */
  async check<T>(claim: string, proof: () => Promise<T>): Promise<T | undefined> {
    try {
      const result = await proof();
      this.results.push({ claim });
      return result;
    } catch (error) {
      this.results.push({ claim, problem: (error as Error).message });
      return undefined;
    }
  }

  get cameTrue(): boolean {
    return this.results.every(({ problem }) => problem === undefined);
  }

  toString(): string {
    return this.results
      .map(({ claim, problem }) => (problem === undefined ? `  ✓ ${claim}` : `  ✗ ${claim}: ${problem}`))
      .join('\n');
  }
}
