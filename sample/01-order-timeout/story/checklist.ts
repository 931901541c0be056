interface Result {
  readonly claim: string;
  readonly problem?: string;
}

/** What the story has to prove. */
export class Checklist {
  private readonly results: Result[] = [];

  /**
   * @param proof rejects where the claim is not true
   * @returns what the proof resolved with; undefined where it rejected
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
