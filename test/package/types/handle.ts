import { Injectable } from '@nestjs/common';
import { DelayedHandler, type DelayedMessage, type HandlerOptions, type TopicRef } from 'nestjs-delay-queue';
import { type Order, type Parsed, counted, parsed, typed, untyped } from './topics.js';

declare const options: HandlerOptions;
const mappedName: string = 'types.order';
declare const size: number;
declare const list: readonly (typeof typed)[];

@Injectable()
export class FittingHandlers {
  @DelayedHandler(typed)
  both(_payload: Order, _message: DelayedMessage<Order>): void {}

  @DelayedHandler(typed, { attempts: 3 })
  async messageOfUnknown({ orderId }: Order, { id }: DelayedMessage): Promise<string> {
    return `${orderId} ${id}`;
  }

  @DelayedHandler(typed)
  payloadOnly(_payload: { readonly orderId: string; readonly note?: string }): void {}

  @DelayedHandler(typed)
  nothing(): void {}

  @DelayedHandler(typed)
  anything(_payload: unknown): void {}

  @DelayedHandler(typed)
  static ofTheClass(_payload: Order): void {}

  @DelayedHandler(typed)
  protected guarded(_payload: Order): void {
    this.hidden(_payload);
  }

  @DelayedHandler(typed)
  private hidden(_payload: Order): void {}

  @DelayedHandler(parsed)
  output(_payload: Parsed, _message: DelayedMessage<Parsed>): void {}

  @DelayedHandler(counted)
  number(_payload: number): void {}

  @DelayedHandler('types.order')
  mapped(_payload: Order, _message: DelayedMessage<Order>): void {}

  @DelayedHandler([typed, counted])
  oneOfTwo(_payload: Order | number, _message: DelayedMessage<Order | number>): void {}

  @DelayedHandler([typed, 'types.count'])
  oneOfBothKinds(_payload: Order | { count: number }): void {}

  @DelayedHandler(list)
  ofAList(_payload: Order): void {}

  @DelayedHandler(typed, { batch: 50 })
  batch(_payloads: Order[], _messages: DelayedMessage<Order>[]): void {}

  @DelayedHandler('types.order', { batch: 50 })
  readonlyBatch(_payloads: readonly Order[], _messages: readonly DelayedMessage[]): void {}

  @DelayedHandler([typed, counted], { batch: 50 })
  batchOfTwo(_payloads: (Order | number)[]): void {}

  // Whether these are called with arrays is known at run time only.
  @DelayedHandler(typed, options)
  perhapsOne(_payload: Order): void {}

  @DelayedHandler(typed, { batch: size })
  perhapsSeveral(_payloads: Order[]): void {}
}

/** Where the compiler does not know the payload, any method will do. */
@Injectable()
export class UncheckedHandlers {
  @DelayedHandler('types.free')
  free(_payload: Date, _more: number, _andMore: string): void {}

  @DelayedHandler('types.free', { batch: 50 })
  freeBatch(_payloads: Date[]): void {}

  @DelayedHandler(untyped)
  untyped(_payload: Date): void {}

  @DelayedHandler([typed, 'types.free'])
  oneUnknown(_payload: Date): void {}

  @DelayedHandler(typed as TopicRef)
  reshaped(_message: DelayedMessage, _payload: Date, _more: number): void {}

  @DelayedHandler(typed.name)
  byName(_payload: Date): void {}

  @DelayedHandler(mappedName)
  mapped(_payload: Date): void {}
}

@Injectable()
export class WrongHandlers {
  // @ts-expect-error an orderId is a text
  @DelayedHandler(typed)
  payload(_payload: { orderId: number }): void {}

  // @ts-expect-error a payload may come without a note
  @DelayedHandler(typed)
  demanding(_payload: { orderId: string; note: string }): void {}

  // @ts-expect-error the message has another payload
  @DelayedHandler(typed)
  message(_payload: Order, _message: DelayedMessage<{ count: number }>): void {}

  // @ts-expect-error it is called with two arguments
  @DelayedHandler(typed)
  more(_payload: Order, _message: DelayedMessage, _more: number): void {}

  // @ts-expect-error a private method is compared as well
  @DelayedHandler(typed)
  private hidden(_payload: number): void {}

  // @ts-expect-error it is given the schema's output, in which `at` is a Date
  @DelayedHandler(parsed)
  input(_payload: { orderId: string; at: string }): void {}

  // @ts-expect-error the same: a number
  @DelayedHandler(counted)
  text(_payload: string): void {}

  // @ts-expect-error the map says that it has an orderId
  @DelayedHandler('types.order')
  mapped(_payload: { count: number }): void {}

  // @ts-expect-error it may be the payload of the other topic
  @DelayedHandler([typed, counted])
  oneOfTwo(_payload: Order): void {}

  // @ts-expect-error with `batch` it is called with arrays
  @DelayedHandler(typed, { batch: 50 })
  single(_payload: Order): void {}

  // @ts-expect-error without `batch` it is not
  @DelayedHandler(typed)
  several(_payloads: Order[]): void {}

  // @ts-expect-error with arrays or without, a payload is an object
  @DelayedHandler(typed, { batch: size })
  neither(_payload: number): void {}

  // @ts-expect-error there is no such option
  @DelayedHandler(typed, { attempts: 3, batchSize: 50 })
  option(_payload: Order): void {}

  // @ts-expect-error that is no topic
  @DelayedHandler(42)
  topic(_payload: Order): void {}

  keepsHidden(): void {
    this.hidden(42);
  }
}
