import { PROTOCOL_VERSION } from '../broker/broker.interface.js';
import { ConfigurationError } from '../errors/configuration.error.js';

/** @throws ConfigurationError where a topic is kept in another way than this version of the library knows */
export function assertProtocol(topic: string, protocol: number): void {
  if (protocol === PROTOCOL_VERSION) return;
  throw new ConfigurationError(
    `Topic '${topic}' was created with protocol version ${protocol}, this version of the library speaks ` +
      `${PROTOCOL_VERSION}. Use a version that speaks ${protocol}, or another prefix.`,
  );
}
