import { Injectable } from '@nestjs/common';
import { DelayedHandler, type DelayedMessage } from 'nestjs-delay-queue';
import { Recorder } from './recorder.js';

/** Handles topic `jobs` of the connection `billing` as the test decides; acknowledges by default. */
@Injectable()
export class BillingJobs extends Recorder {
  @DelayedHandler('jobs', { connection: 'billing' })
  async work(payload: unknown, message: DelayedMessage) {
    return this.take(payload, message);
  }
}
