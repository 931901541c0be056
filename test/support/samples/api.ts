export interface Answer<T> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: T;
}

/** A client of a sample's HTTP API. */
export class Api {
  constructor(private readonly url: string) {}

  get<T>(path: string): Promise<Answer<T>> {
    return this.#send(path, {});
  }

  post<T>(path: string, body: object = {}, headers: Record<string, string> = {}): Promise<Answer<T>> {
    const json = { 'content-type': 'application/json' };
    return this.#send(path, { method: 'POST', headers: { ...json, ...headers }, body: JSON.stringify(body) });
  }

  async #send<T>(path: string, request: RequestInit): Promise<Answer<T>> {
    const response = await fetch(this.url + path, request);
    return { status: response.status, headers: response.headers, body: (await response.json()) as T };
  }
}
