/**
 * Stored owner of a partition: the epoch, and the session behind a space. Of a partition that was released only the epoch
 * is left. It is compared as it is, so it can be any text that another program has written.
 */
export type Owner = string;

/** @param epoch 64 random bits as text, new for each takeover */
export function ownerOf(epoch: string, session: string): Owner {
  return `${epoch} ${session}`;
}

/** Returns the epoch of an owner, whether or not it has released its partition. */
export function epochOf(owner: Owner): string {
  const end = owner.indexOf(' ');
  return end === -1 ? owner : owner.slice(0, end);
}

/** Returns the session that owns a partition; `undefined` if none does. */
export function sessionOfOwner(owner: Owner | undefined): string | undefined {
  return owner?.split(' ', 2)[1] || undefined;
}

/** Returns what is stored once an owner has released its partition. */
export function released(owner: Owner): Owner {
  return epochOf(owner);
}
