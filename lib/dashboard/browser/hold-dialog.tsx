import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { act } from './api.js';
import { ActionButton, Dialog } from './controls.js';
import { duration } from './format.js';
import { text } from './texts/text.js';

const MINUTE = 60_000;

/** What can be chosen, in milliseconds. */
const DELAYS = [5, 15, 60, 240, 1440].map((minutes) => minutes * MINUTE);

/** Asks for how long a topic is to be held, and holds it. */
export function HoldDialog({ topic, close }: { topic: string; close: () => void }): JSX.Element {
  const t = text();
  const [chosen, setChosen] = useState(15 * MINUTE);
  const hold = async (): Promise<void> => {
    await act('api/hold', { topic, delay: `${chosen}ms` });
    close();
  };
  return (
    <Dialog title={`${t.actions.hold} · ${topic}`} close={close}>
      <p>{t.topic.holdWhat(topic)}</p>
      <div class="segments" role="group" aria-label={t.topic.holdFor}>
        {DELAYS.map((delay) => (
          <button key={delay} type="button" aria-pressed={delay === chosen} onClick={() => setChosen(delay)}>
            {duration(delay)}
          </button>
        ))}
      </div>
      <div class="dialog-actions">
        <ActionButton kind="primary" run={hold}>
          {t.actions.hold}
        </ActionButton>
      </div>
    </Dialog>
  );
}
