import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ShownMessage } from '../redaction.js';
import { act, actOnPayload } from './api.js';
import { ActionButton, AskButtons, Dialog, Field } from './controls.js';
import type { Json } from './json.js';
import { type Action, type Outcome, outcomeOf } from './message-outcome.js';
import { visible } from './names.js';
import { may, seesPayloads } from './session.js';
import { text } from './texts/text.js';

const ACTIONS: Readonly<Record<ShownMessage['state'], readonly Action[]>> = {
  scheduled: ['runNow', 'reschedule', 'edit', 'cancel'],
  'in-flight': ['cancel'],
  dead: ['requeue', 'remove'],
  finished: [],
};

/** Actions without a question first: they can be undone, or do what happens anyway. */
const AT_ONCE = ['runNow', 'requeue'] as const;

const ROUTES = { runNow: 'api/run-now', requeue: 'api/requeue' } as const;

interface MessageProps {
  readonly message: Json<ShownMessage>;
}

/** The possible actions on a message. */
export function MessageActions({ message }: MessageProps): JSX.Element {
  const t = text();
  const [asked, setAsked] = useState<Action>();
  const [told, setTold] = useState('');
  const offered = actionsOn(message);
  const done = (outcome: Outcome): void => {
    setAsked(undefined);
    setTold(t.message.outcome[outcome]);
  };
  return (
    <div class="actions">
      {AT_ONCE.filter((action) => offered.includes(action)).map((action) => (
        <ActionButton
          key={action}
          kind="primary"
          run={async () => done(outcomeOf(action, await act(ROUTES[action], nameOf(message))))}
        >
          {t.actions[action]}
        </ActionButton>
      ))}
      <AskButtons
        actions={offered.filter((action) => action !== 'runNow' && action !== 'requeue')}
        names={t.actions}
        ask={setAsked}
      />
      <span role="status" class="told">
        {told}
      </span>
      {asked !== undefined && (
        <Dialog title={`${t.actions[asked]} · ${visible(message.id)}`} close={() => setAsked(undefined)}>
          {asked === 'reschedule' && <RescheduleForm message={message} done={done} />}
          {asked === 'edit' && <EditForm message={message} done={done} />}
          {(asked === 'cancel' || asked === 'remove') && <Confirmation action={asked} message={message} done={done} />}
        </Dialog>
      )}
    </div>
  );
}

function actionsOn({ state, payload }: Json<ShownMessage>): readonly Action[] {
  // A payload that cannot be decoded or is not shown cannot be edited.
  const isEditable = seesPayloads() && payload !== undefined;
  return ACTIONS[state].filter((action) => may(action) && (action !== 'edit' || isEditable));
}

function nameOf({ topic, id, key }: Json<ShownMessage>): { topic: string; id: string; key: string } {
  return { topic, id, key };
}

interface FormProps extends MessageProps {
  readonly done: (outcome: Outcome) => void;
}

function Confirmation({ action, message, done }: FormProps & { action: 'cancel' | 'remove' }): JSX.Element {
  const t = text();
  return (
    <>
      <p>{action === 'cancel' ? t.message.cancelWhat : t.message.removeWhat}</p>
      <div class="dialog-actions">
        <ActionButton
          kind="danger"
          run={async () => done(outcomeOf(action, await act(`api/${action}`, nameOf(message))))}
        >
          {t.actions[action]}
        </ActionButton>
      </div>
    </>
  );
}

function RescheduleForm({ message, done }: FormProps): JSX.Element {
  const t = text();
  const [by, setBy] = useState<'in' | 'at'>('in');
  const [delay, setDelay] = useState('10m');
  const [time, setTime] = useState(() => localTime(new Date(message.at)));
  const when = by === 'in' ? { delay } : { deliverAt: new Date(time).getTime() };
  const isComplete = by === 'in' ? delay.trim() !== '' : !Number.isNaN(new Date(time).getTime());
  const submit = async (): Promise<void> => {
    done(outcomeOf('reschedule', await act('api/reschedule', { ...nameOf(message), ...when })));
  };
  return (
    <>
      <div class="segments" role="group" aria-label={t.message.rescheduleTo}>
        {(['in', 'at'] as const).map((one) => (
          <button key={one} type="button" aria-pressed={by === one} onClick={() => setBy(one)}>
            {t.message[one]}
          </button>
        ))}
      </div>
      {by === 'in' ? (
        <Field name={t.message.rescheduleTo} hint={t.message.delayHint} value={delay} change={setDelay} />
      ) : (
        <Field name={t.message.rescheduleTo} type="datetime-local" value={time} change={setTime} />
      )}
      <div class="dialog-actions">
        <ActionButton kind="primary" disabled={!isComplete} run={submit}>
          {t.actions.reschedule}
        </ActionButton>
      </div>
    </>
  );
}

/** Returns a time in the form of a time field, which has no time zone. */
function localTime(time: Date): string {
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

function EditForm({ message, done }: FormProps): JSX.Element {
  const t = text();
  const [edited, setEdited] = useState(() => JSON.stringify(message.payload, undefined, 2));
  // Saving the shown payload would store what is left of it, or the words that stand for it.
  if (!message.editable) return <p>{message.redacted ? t.message.editRedacted : t.message.editNotJson}</p>;
  const isWritten = isJson(edited);
  const submit = async (): Promise<void> => {
    done(outcomeOf('edit', await actOnPayload('api/edit', nameOf(message), edited)));
  };
  return (
    <>
      <div class="field">
        <label for="edited-payload">{t.message.payload}</label>
        <textarea
          id="edited-payload"
          class="mono"
          rows={14}
          spellcheck={false}
          value={edited}
          aria-invalid={!isWritten}
          onInput={({ currentTarget }) => setEdited(currentTarget.value)}
        />
        <small class="hint">{t.message.editHint}</small>
        {!isWritten && <small class="invalid">{t.message.badJson}</small>}
      </div>
      <div class="dialog-actions">
        <ActionButton kind="primary" disabled={!isWritten} run={submit}>
          {t.actions.save}
        </ActionButton>
      </div>
    </>
  );
}

function isJson(written: string): boolean {
  try {
    JSON.parse(written);
    return true;
  } catch {
    return false;
  }
}
