import { didYouMean } from '../checks/nearest.js';
import { assertOneOf, assertOptions, isPlainObject } from '../checks/validate.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { assertName } from '../messages/topic.js';
import { type GatewayRight, RIGHTS } from './access.js';
import { type GatewayToken, assertToken } from './tokens.js';

/** What the file of a standalone gateway says. */
export interface GatewayConfig {
  /** The topics that are served, by name; each has the options of a topic, which the connection checks. */
  readonly topics: Readonly<Record<string, object>>;
  readonly tokens: readonly GatewayToken[];
}

/**
 * Checks what a file says. No error shows a token.
 *
 * @param more topics that are served beside those of the file
 * @throws InvalidArgumentError
 */
export function checkConfig(given: unknown, more: readonly string[]): GatewayConfig {
  if (!isPlainObject(given)) throw new InvalidArgumentError('The configuration must be an object.');
  assertOptions('The configuration', given, ['topics', 'tokens']);
  const { topics = {}, tokens = [] } = given;
  if (!isPlainObject(topics)) {
    throw new InvalidArgumentError(
      'topics of the configuration must be an object with the options of each topic, by name.',
    );
  }
  const all: Record<string, object> = {};
  for (const [topic, options] of Object.entries(topics)) {
    assertName('topic', topic);
    if (!isPlainObject(options))
      throw new InvalidArgumentError(`topics['${topic}'] must be an object with its options.`);
    all[topic] = options;
  }
  for (const topic of more) {
    assertName('topic', topic);
    all[topic] ??= {};
  }
  if (!Array.isArray(tokens)) throw new InvalidArgumentError('tokens of the configuration must be an array.');
  return { topics: all, tokens: checkTokens(tokens, Object.keys(all)) };
}

function checkTokens(given: readonly unknown[], topics: readonly string[]): GatewayToken[] {
  const tokens = given.map((one, i) => checkToken(`tokens[${i}]`, one, topics));
  for (const [i, { name, token }] of tokens.entries()) {
    const first = tokens.findIndex((one) => one.token === token || one.name === name);
    if (first < i) throw new InvalidArgumentError(`tokens[${i}] has the name or the token of tokens[${first}].`);
  }
  return tokens;
}

function checkToken(place: string, given: unknown, topics: readonly string[]): GatewayToken {
  if (!isPlainObject(given)) throw new InvalidArgumentError(`${place} must be an object with name, token and rights.`);
  assertOptions(place, given, ['name', 'token', 'rights']);
  const { name, token, rights } = given;
  assertName(`${place}.name`, name);
  assertToken(`${place}.token`, token);
  if (!isPlainObject(rights)) {
    throw new InvalidArgumentError(`${place}.rights must be an object with the rights for each topic, by name.`);
  }
  const byTopic = new Map<string, GatewayRight[]>();
  for (const [topic, some] of Object.entries(rights)) {
    if (!topics.includes(topic)) {
      throw new InvalidArgumentError(
        `${place}.rights has topic '${topic}', which is not served.${didYouMean(topic, topics)}`,
      );
    }
    byTopic.set(topic, checkRights(`${place}.rights['${topic}']`, some));
  }
  return { name, token, rights: byTopic };
}

function checkRights(place: string, given: unknown): GatewayRight[] {
  if (!Array.isArray(given)) throw new InvalidArgumentError(`${place} must be an array of rights.`);
  return given.map((right: unknown) => {
    assertOneOf(place, right as GatewayRight, RIGHTS);
    return right as GatewayRight;
  });
}
