import { crc32 } from 'node:zlib';

/**
 * Returns the partition of a key: CRC-32 (IEEE 802.3) of its UTF-8 bytes, modulo the number of partitions. It must never change while
 * messages are stored. Every language has CRC-32, so clients in other languages can compute it too.
 */
export function partitionOf(key: string, partitions: number): number {
  return crc32(key) % partitions;
}
