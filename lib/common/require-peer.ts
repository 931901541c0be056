import { createRequire } from 'node:module';
import { ConfigurationError } from '../errors/configuration.error.js';

const require = createRequire(import.meta.url);

/**
 * Loads an optional peer dependency, once it is needed.
 *
 * @param name the package
 * @param feature what needs it, in the plural: 'Metrics for Prometheus'
 * @throws ConfigurationError that says what to install, where it is missing
 */
export function requirePeer(name: string, feature: string): unknown {
  try {
    return require(name);
  } catch (error) {
    throw new ConfigurationError(`${feature} need the package '${name}'. Install it: npm install ${name}`, {
      cause: error,
    });
  }
}
