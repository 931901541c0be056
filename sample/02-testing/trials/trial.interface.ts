export interface Trial {
  readonly id: string;
  readonly email: string;
  /** Charged when the trial ends; without a card the trial just ends. */
  card?: string;
  status: 'trial' | 'subscribed' | 'cancelled';
  readonly endsAt: Date;
}

export interface StartTrial {
  readonly email: string;
  readonly card?: string;
}
