import { topic } from 'nestjs-delay-queue';

export interface TrialMessage {
  readonly trialId: string;
}

/** Due when somebody on trial should be reminded that it ends. */
export const trialReminder = topic<TrialMessage>('trial.reminder');

/** Due when a trial ends. Its message has the trial's id, so that it can be cancelled by it. */
export const trialEnd = topic<TrialMessage>('trial.end');
