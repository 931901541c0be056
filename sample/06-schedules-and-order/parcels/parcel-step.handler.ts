import { Injectable } from '@nestjs/common';
import { DelayedHandler, type DelayedMessage } from 'nestjs-delay-queue';
import { type ParcelStep, parcelStep } from './parcel-step.topic.js';

@Injectable()
export class ParcelStepHandler {
  /** The parcels whose first scan fails. */
  readonly unreadable = new Set<string>();
  readonly done: string[] = [];

  /** What follows a step of the same parcel waits until it has succeeded, also through its retries. */
  @DelayedHandler(parcelStep, { backoff: { type: 'steps', delays: ['300ms', '1s', '5s'] } })
  async scan({ parcel, step }: ParcelStep, { attempt }: DelayedMessage): Promise<void> {
    if (attempt === 1 && this.unreadable.delete(parcel)) {
      this.done.push(`${parcel} could not be scanned`);
      throw new Error(`The label of ${parcel} cannot be read`);
    }
    this.done.push(`${parcel} is ${step}`);
  }
}
