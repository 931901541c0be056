import type { Observable } from 'rxjs';
import type { FleetEvent } from '../admin/index.js';
import type { EventStream } from './event-streams.js';
import type { Viewer } from './viewer.js';
import type { Told } from './watched-look.js';

/** Which events somebody wants to see, of those that they may; all that are not limited. */
export interface LiveFilter {
  readonly viewer: Viewer;
  readonly topic: string | undefined;
  readonly kind: string | undefined;
}

/**
 * Tells a browser the events of the fleet as they come. What it is too slow for is left out, and counted.
 *
 * @param look which of the looks of the stream they answer
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
