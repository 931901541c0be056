/** An error that Redis replies with, named as that of ioredis. */
export class ReplyError extends Error {
  override readonly name = 'ReplyError';
}
