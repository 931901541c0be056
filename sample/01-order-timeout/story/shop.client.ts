import type { Order } from '../orders/order.interface.js';

/** An answer with a status other than 2xx. */
export class ShopError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** A customer of the order service, who knows only its HTTP API. */
export class ShopClient {
  constructor(private readonly url: string) {}

  place(item: string): Promise<Order> {
    return this.post<Order>('/orders', { item });
  }

  pay(id: string): Promise<Order> {
    return this.post<Order>(`/orders/${id}/pay`);
  }

  cancel(id: string): Promise<Order> {
    return this.post<Order>(`/orders/${id}/cancel`);
  }

  async askForReceipt(id: string): Promise<void> {
    await this.post(`/orders/${id}/receipt`);
  }

  async askForReminder(id: string): Promise<void> {
    await this.post(`/orders/${id}/reminder`);
  }

  async statusOf(id: string): Promise<Order['status']> {
    const { status } = await this.send<Order>(`/orders/${id}`);
    return status;
  }

  private post<T>(path: string, body: object = {}): Promise<T> {
    const headers = { 'content-type': 'application/json' };
    return this.send<T>(path, { method: 'POST', headers, body: JSON.stringify(body) });
  }

  private async send<T>(path: string, request: RequestInit = {}): Promise<T> {
    const response = await fetch(this.url + path, request);
    const text = await response.text();
    if (!response.ok) throw new ShopError(response.status, `${request.method ?? 'GET'} ${path} was answered: ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }
}
