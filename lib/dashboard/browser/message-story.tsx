import type { JSX } from 'preact';
import type { Explanation } from '../../admin/explain.js';
import type { Failure as StoredFailure } from '../../messages/failure.js';
import type { ShownMessage } from '../redaction.js';
import { dateTime, duration, exactTime, now, processName, shortDateTime } from './format.js';
import type { Json } from './json.js';
import { Card, Code } from './parts.js';
import { text } from './texts/text.js';

interface StoryStep {
  readonly at: string | undefined;
  readonly title: string;
  readonly tone: 'neutral' | 'good' | 'bad' | 'accent' | 'ahead';
  readonly note?: string | undefined;
  readonly failure?: Json<StoredFailure> | undefined;
}

/** The life of a message: each attempt with its outcome, and what is to come. */
export function Story({
  message,
  explanation,
}: {
  message: Json<ShownMessage>;
  explanation: Json<Explanation>;
}): JSX.Element {
  const t = text();
  const steps = storyOf(message, explanation);
  return (
    <Card title={t.message.story}>
      <ol class="story">
        {steps.map(({ at, title, tone, note, failure }, i) => (
          <li key={i} class={`story-${tone}`}>
            <div class="story-head">
              <strong>{title}</strong>
              {at !== undefined && <When at={at} before={steps[i - 1]?.at} />}
            </div>
            {note && <p class="wrap">{note}</p>}
            {failure && <FailureDetails failure={failure} />}
          </li>
        ))}
      </ol>
    </Card>
  );
}

/** Time of a step, and the time since the one before. */
function When({ at, before }: { at: string; before: string | undefined }): JSX.Element {
  const gap = before === undefined ? 0 : Date.parse(at) - Date.parse(before);
  return (
    <span class="muted">
      {gap > 0 && `+${duration(gap)} · `}
      <time dateTime={at} title={dateTime(at)}>
        {isToday(at) ? exactTime(at) : shortDateTime(at)}
      </time>
    </span>
  );
}

function isToday(at: string): boolean {
  return new Date(at).toDateString() === new Date(now()).toDateString();
}

function storyOf(message: Json<ShownMessage>, { facts }: Json<Explanation>): StoryStep[] {
  const t = text();
  const { publishedAt, history, attempts, failure, outcome } = message;
  const steps: StoryStep[] = [];
  if (publishedAt !== undefined) steps.push({ at: publishedAt, title: t.message.storyPublished, tone: 'neutral' });
  const omitted = attempts - history.length - (outcome === 'acked' ? 1 : 0);
  if (omitted > 0 && history.length > 0)
    steps.push({ at: undefined, title: t.message.omitted(omitted), tone: 'neutral' });
  for (const [i, one] of history.toReversed().entries()) {
    const isLatest = i === history.length - 1;
    steps.push({
      at: one.at,
      title: t.message.storyAttempt(one.attempt),
      tone: 'bad',
      note: `${one.name}: ${one.message} (${t.message.storyRan(duration(one.duration))})`,
      failure: isLatest && failure?.reason !== 'crashed' ? failure : undefined,
    });
  }
  return [...steps, ...endOfStory(message, facts.runner)];
}

/** Returns the current state of the message. */
function endOfStory(message: Json<ShownMessage>, runner: string | undefined): StoryStep[] {
  const t = text();
  const { state, at, history, failure } = message;
  switch (state) {
    case 'scheduled':
      return [{ at, title: t.message.storyDue, tone: Date.parse(at) > now() ? 'ahead' : 'accent' }];
    case 'in-flight': {
      const note = runner === undefined ? undefined : processName(runner);
      return [
        { at: undefined, title: t.message.storyRunning, tone: 'accent', note },
        { at, title: t.message.storyLease, tone: 'ahead' },
      ];
    }
    case 'dead': {
      const isTold = history.length > 0 && failure?.reason !== 'crashed';
      const note =
        failure && `${t.dead.reasons[failure.reason] ?? failure.reason}: ${failure.name}: ${failure.message}`;
      return [{ at, title: t.message.storyDead, tone: 'bad', note, failure: isTold ? undefined : failure }];
    }
    default:
      return finishedStory(message);
  }
}

function finishedStory({ at, dueAt, outcome, duration: ran, process }: Json<ShownMessage>): StoryStep[] {
  const t = text();
  const told = [
    ran === undefined ? undefined : t.message.storyRan(duration(ran)),
    process === undefined ? undefined : processName(process),
  ];
  const title = (outcome && t.message.storyFinished[outcome]) ?? outcome ?? '';
  const end: StoryStep = { at, title, tone: 'good', note: told.filter(Boolean).join(' · ') };
  return dueAt === undefined ? [end] : [{ at: dueAt, title: t.message.storyDue, tone: 'neutral' }, end];
}

function FailureDetails({ failure }: { failure: Json<StoredFailure> }): JSX.Element | null {
  const t = text();
  const { stack, lastError, issues } = failure;
  return (
    <>
      {stack && (
        <details>
          <summary>{t.message.stack}</summary>
          <Code value={stack} />
        </details>
      )}
      {issues && <Code value={issues} />}
      {lastError && (
        <details>
          <summary>
            {t.message.lastError}: {lastError.name}
          </summary>
          <Code value={lastError.stack ?? lastError.message} />
        </details>
      )}
    </>
  );
}
