import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { BulkDialog } from './bulk-dialog.js';
import { AskButtons, Field } from './controls.js';
import { may, mayActByContent } from './session.js';
import { text } from './texts/text.js';

/** Which messages are meant, as `MessageFilter` has it. */
export interface SearchFilter {
  readonly tag?: string | undefined;
  readonly key?: string | undefined;
  readonly text?: string | undefined;
  readonly field?: { readonly path: string; readonly value: string } | undefined;
}

const ACTIONS = ['runNow', 'reschedule', 'cancel'] as const;

/** What can be done with all waiting messages that a filter means. */
export function WaitingActions({ topic, filter }: { topic: string; filter: SearchFilter }): JSX.Element | null {
  const t = text();
  const [asked, setAsked] = useState<(typeof ACTIONS)[number]>();
  const [delay, setDelay] = useState('10m');
  if (!ACTIONS.some((action) => may(action))) return null;
  if ((filter.text !== undefined || filter.field) && !mayActByContent()) return <p class="hint">{t.bulk.byContent}</p>;
  return (
    <div class="actions">
      <AskButtons actions={ACTIONS} names={t.bulk.all} ask={setAsked} />
      {asked && (
        <BulkDialog
          key={asked}
          action={asked}
          topic={topic}
          body={{ filter, ...(asked === 'reschedule' && { delay }) }}
          isComplete={asked !== 'reschedule' || delay.trim() !== ''}
          close={() => setAsked(undefined)}
        >
          {asked === 'reschedule' && (
            <Field name={t.bulk.delay} hint={t.message.delayHint} value={delay} change={setDelay} />
          )}
        </BulkDialog>
      )}
    </div>
  );
}
