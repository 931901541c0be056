/**
 * Shares the partitions of a topic among the processes that handle it. All that know of the same processes come to the same
 * result, no matter who holds what; shares differ by at most one.
 *
 * Each partition in turn goes to the process that has the highest score for it and still has room (rendezvous hashing with
 * bounded loads, after Thaler and Ravishankar, "Using name-based mappings to increase hit rates", 1998). If a process comes or goes,
 * the scores of the others stay, so about 1.5 times as many partitions move as have to.
 *
 * @param sessions names of the processes, at least one, in any order
 * @returns for each partition, the process that is to own it
 */
export function assignPartitions(topic: string, partitions: number, sessions: readonly string[]): string[] {
  const candidates = sessions.map((id) => ({ id, hash: hashOf(id), count: 0 }));
  const share = Math.floor(partitions / candidates.length);
  let larger = partitions % candidates.length;
  const turns = Array.from({ length: partitions }, (_, index) => ({ index, hash: hashOf(`${topic}:${index}`) }));
  turns.sort((a, b) => a.hash - b.hash || a.index - b.index);

  const owners = Array.from({ length: partitions }, () => '');
  for (const { index, hash } of turns) {
    let best: (typeof candidates)[number] | undefined;
    let highest = -1;
    for (const candidate of candidates) {
      if (candidate.count > share || (candidate.count === share && larger === 0)) continue;
      const score = scoreOf(candidate.hash, hash);
      // Names decide between equal scores, so that the order of the sessions does not.
      if (score < highest || (score === highest && best && best.id < candidate.id)) continue;
      highest = score;
      best = candidate;
    }
    if (!best) break;
    if (best.count === share) larger--;
    best.count++;
    owners[index] = best.id;
  }
  return owners;
}

/** FNV-1a of 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** Mixes two hashes with the final steps of MurmurHash3. */
function scoreOf(session: number, partition: number): number {
  let hash = session ^ Math.imul(partition, 0x9e3779b1);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
