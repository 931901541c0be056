import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ClearCounts } from '../../admin/bulk-options.js';
import type { Operation } from '../operations.js';
import { act } from './api.js';
import { follow } from './operations.js';
import { ActionButton, Dialog, Field } from './parts.js';
import { text } from './texts/text.js';

/** Counts first what would be removed, then asks for the name of the topic. */
export function ClearDialog({
  action,
  topic,
  close,
}: {
  action: 'drain' | 'purge';
  topic: string;
  close: () => void;
}): JSX.Element {
  const t = text();
  const [count, setCount] = useState<number>();
  const [typed, setTyped] = useState('');
  const countFirst = async (): Promise<void> => {
    setCount((await act<ClearCounts>(`api/${action}`, { topic, dryRun: true })).matched);
  };
  const clear = async (): Promise<void> => {
    const begun = await act<{ operation: Operation }>(`api/${action}`, {
      topic,
      dryRun: false,
      confirm: typed,
      total: count,
    });
    await follow(begun.operation);
    close();
  };
  return (
    <Dialog title={`${t.actions[action]} · ${topic}`} close={close}>
      <p>{action === 'drain' ? t.topic.drainWhat : t.topic.purgeWhat}</p>
      {count === undefined ? (
        <div class="dialog-actions">
          <ActionButton kind="primary" run={countFirst}>
            {t.actions.count}
          </ActionButton>
        </div>
      ) : (
        <>
          <p class="strong">{t.topic.wouldRemove(count)}</p>
          <Field name={t.topic.typeName(topic)} value={typed} change={setTyped} />
          <div class="dialog-actions">
            <ActionButton kind="danger" disabled={typed !== topic} run={clear}>
              {t.actions[action]}
            </ActionButton>
          </div>
        </>
      )}
    </Dialog>
  );
}
