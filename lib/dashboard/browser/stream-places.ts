/**
 * Most windows that have a stream each. A browser opens six connections to a server for all of its windows, and needs the others for pages
 * and for actions on them.
 */
const PLACES = 4;

/** Gives back a place for a stream, which also ends when its window is closed. */
export type GiveBack = () => void;

/**
 * Takes a place for a stream. Returns `undefined` if all are taken, or if the browser cannot tell: it has locks only for pages of HTTPS and
 * of this machine.
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
