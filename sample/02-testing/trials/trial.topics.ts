import { topic } from 'nestjs-delay-queue';

export interface TrialMessage {
  readonly trialId: string;
}

/** Due when the user should be reminded that the trial ends. */
export const trialReminder = topic<TrialMessage>('trial.reminder');

/** Due when a trial ends. Its message has the trial's id, so that the trial can cancel it. */
export const trialEnd = topic<TrialMessage>('trial.end');
