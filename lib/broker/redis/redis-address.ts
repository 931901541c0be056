import type { RedisOptions } from 'ioredis';

/** Host and port for messages; never a user name or password. */
export function addressOf(settings: string | RedisOptions): string {
  if (typeof settings === 'string') {
    const url = URL.canParse(settings) ? new URL(settings) : undefined;
    return url?.hostname ? `${url.hostname}:${url.port || 6379}` : settings.replace(/^.*@/, '').replace(/\?.*$/, '');
  }
  if (settings.path) return settings.path;
  if (settings.sentinels?.length) {
    const nodes = settings.sentinels.map(({ host, port }) => `${host}:${port}`).join(', ');
    return `sentinels ${nodes} (${settings.name})`;
  }
  return `${settings.host ?? 'localhost'}:${settings.port ?? 6379}`;
}
