import type { Observable } from 'rxjs';
import type { FleetEvent } from '../admin/index.js';
import type { EventStream } from './event-streams.js';
import type { Viewer } from './viewer.js';
import type { Told } from './watched-look.js';

/** Selects the events that a viewer wants to see, among those that they are allowed to; no limit means all of them. */
export interface LiveFilter {
  readonly viewer: Viewer;
  readonly topic: string | undefined;
  readonly kind: string | undefined;
}

/**
 * Sends a browser the events of the fleet as they come. Events that it is too slow for are left out, and counted.
 *
 * @param look number of the look of the stream that they answer
 */
export function followEvents(
  events: Observable<FleetEvent>,
  filter: LiveFilter,
  look: number,
  stream: EventStream,
): void {
  const send = (answer: FleetEvent): void => stream.send(JSON.stringify({ look, answer } satisfies Told));
  let leftOut = 0;
  const subscription = events.subscribe((event) => {
    if (!isWanted(event, filter)) return;
    if (stream.isFull) {
      leftOut++;
      return;
    }
    if (leftOut > 0) send({ kind: 'gap', missed: leftOut, process: undefined });
    leftOut = 0;
    send(event);
  });
  stream.ended.addEventListener('abort', () => subscription.unsubscribe());
}

function isWanted(event: FleetEvent, { viewer, topic, kind }: LiveFilter): boolean {
  if (event.kind === 'gap') return true;
  return (
    viewer.sees(event.topic) &&
    (kind === undefined || event.kind === kind) &&
    (topic === undefined || event.topic === topic)
  );
}
