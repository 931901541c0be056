import { type FakeRedis, bulk, startFakeRedis } from './fake-redis.js';

/** A Sentinel that names the primary of one group as a test tells it to. */
export class FakeSentinel {
  readonly #group: string;
  #server!: FakeRedis;
  #primary: number;
  /** Whether it takes questions for the primary without an answer. */
  isHung = false;
  /** Whether it lets nobody subscribe. */
  refusesListeners = false;
  /** How many questions it has left without an answer. */
  unanswered = 0;

  private constructor(group: string, primary: number) {
    this.#group = group;
    this.#primary = primary;
  }

  /** @param port where the primary listens */
  static async start(group: string, port: number): Promise<FakeSentinel> {
    const sentinel = new FakeSentinel(group, port);
    sentinel.#server = await startFakeRedis('', (words) => sentinel.#answer(words));
    return sentinel;
  }

  get port(): number {
    return this.#server.port;
  }

  /** How many connections listen for a swap. */
  get listeners(): number {
    return this.#server.subscribers();
  }

  /** Names another server as the primary from now on, and tells so. */
  swap(port: number): void {
    const former = this.#primary;
    this.#primary = port;
    this.tell(`${this.#group} 127.0.0.1 ${former} 127.0.0.1 ${port}`);
  }

  /** @param swap in the words of a Sentinel */
  tell(swap: string): void {
    this.#server.tell('+switch-master', swap);
  }

  async stop(): Promise<void> {
    await this.#server.stop();
  }

  #answer([name = '', question = '', of = '']: readonly string[]): string | undefined {
    if (name.toLowerCase() === 'subscribe' && this.refusesListeners)
      return '-NOPERM no permissions to access a channel\r\n';
    if (name.toLowerCase() === 'subscribe') return `*3\r\n${bulk('subscribe')}${bulk(question)}:1\r\n`;
    if (name.toLowerCase() !== 'sentinel') return undefined;
    if (question.toLowerCase() === 'sentinels') return '*0\r\n';
    if (this.isHung) {
      this.unanswered++;
      return '';
    }
    return of === this.#group ? `*2\r\n${bulk('127.0.0.1')}${bulk(String(this.#primary))}` : '*-1\r\n';
  }
}
