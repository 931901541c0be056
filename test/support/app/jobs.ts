import { Injectable } from '@nestjs/common';
import { DelayedHandler, type DelayedMessage } from 'nestjs-delay-queue';
import { Recorder } from './recorder.js';

/** Handles topic `jobs` as the test decides; acknowledges by default. */
@Injectable()
export class Jobs extends Recorder {
  @DelayedHandler('jobs')
  async work(payload: unknown, message: DelayedMessage) {
    return this.take(payload, message);
  }
}
