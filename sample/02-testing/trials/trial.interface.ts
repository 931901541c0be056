export interface Trial {
  readonly id: string;
  readonly email: string;
  /** To be charged when the trial ends; without one the trial just ends. */
  card?: string;
  status: 'trial' | 'subscribed' | 'cancelled';
  readonly endsAt: Date;
}

export interface StartTrial {
  readonly email: string;
  readonly card?: string;
}
