/** A member of a topic's group, as far as the assignment cares. */
export interface AssignableMember {
  readonly id: string;
  /** Partitions it says it holds. */
  readonly holdings: readonly number[];
}

/**
 * Shares a topic's partitions among its members. Every process that knows the same members comes to the same result;
 * shares differ by one at most; and no partition moves that need not: a member keeps what it holds up to its share.
 *
 * @param members in any order
 * @returns partitions by member id, ascending
 */
export function assignPartitions(members: readonly AssignableMember[], partitions: number): Map<string, number[]> {
  const holdings = exclusiveHoldings(members, partitions);
  // The larger shares go to those who hold most, so that they have to give up least.
  const ranked = members.toSorted((a, b) => sizeOf(holdings, b) - sizeOf(holdings, a) || (a.id < b.id ? -1 : 1));
  const share = Math.floor(partitions / members.length);
  const larger = partitions % members.length;

  const assignment = new Map<string, number[]>();
  const free = new Set(Array.from({ length: partitions }, (_, partition) => partition));
  const sizes = new Map(ranked.map(({ id }, rank) => [id, rank < larger ? share + 1 : share]));
  for (const { id } of ranked) {
    const kept = (holdings.get(id) ?? []).slice(0, sizes.get(id));
    for (const partition of kept) free.delete(partition);
    assignment.set(id, kept);
  }
  const rest = [...free];
  for (const { id } of ranked) {
    const kept = assignment.get(id) as number[];
    const added = rest.splice(0, (sizes.get(id) as number) - kept.length);
    assignment.set(
      id,
      [...kept, ...added].toSorted((a, b) => a - b),
    );
  }
  return assignment;
}

/** What each member holds; if two claim the same partition (one of them has old news), the first by id counts. */
function exclusiveHoldings(members: readonly AssignableMember[], partitions: number): Map<string, number[]> {
  const taken = new Set<number>();
  const exclusive = new Map<string, number[]>();
  for (const { id, holdings } of members.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
    const own = [...new Set(holdings)]
      .toSorted((a, b) => a - b)
      .filter(
        (partition) => Number.isInteger(partition) && partition >= 0 && partition < partitions && !taken.has(partition),
      );
    for (const partition of own) taken.add(partition);
    exclusive.set(id, own);
  }
  return exclusive;
}

function sizeOf(holdings: ReadonlyMap<string, number[]>, { id }: AssignableMember): number {
  return holdings.get(id)?.length ?? 0;
}
