import { Injectable } from '@nestjs/common';

export interface Charge {
  /** A second charge with the same key is not made. */
  readonly idempotencyKey: string;
  readonly card: string;
  /** In cents. */
  readonly amount: number;
  readonly signal: AbortSignal;
}

/** Takes the money; tests replace it with a fake. */
@Injectable()
export class PaymentGateway {
  async charge({ idempotencyKey, signal, ...body }: Charge): Promise<void> {
    const response = await fetch('https://payments.example.com/charges', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
      body: JSON.stringify(body),
      signal,
    });
    if (!response.ok) throw new Error(`The payment gateway answers ${response.status}`);
  }
}
