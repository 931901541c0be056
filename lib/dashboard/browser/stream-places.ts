/**
 * So many windows have a stream each. A browser opens six connections to a server for all of its windows, and needs the others for pages and
 * for what is done on them.
 */
const PLACES = 4;

/** A place for a stream, until it is given back, or its window is closed. */
export type GiveBack = () => void;

/**
 * Takes a place for a stream. Answers `undefined` if all are taken, or the browser cannot tell: it has locks for pages of HTTPS and of this
 * machine alone.
 */
export async function takePlace(): Promise<GiveBack | undefined> {
  if (!('locks' in navigator)) return undefined;
  for (let place = 0; place < PLACES; place++) {
    const giveBack = await lock(`delay-queue-dashboard.stream.${place}`);
    if (giveBack) return giveBack;
  }
  return undefined;
}

async function lock(name: string): Promise<GiveBack | undefined> {
  return new Promise((taken) => {
    void navigator.locks.request(name, { ifAvailable: true }, async (granted) => {
      if (granted) await new Promise<void>((giveBack) => taken(giveBack));
      else taken(undefined);
    });
  });
}
