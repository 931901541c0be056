import { isPlainObject } from '../checks/kinds.js';
import { didYouMean } from '../checks/nearest.js';
import { assertOneOf, assertOptions } from '../checks/validate.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { assertName } from '../messages/topic.js';
import { type GatewayRight, RIGHTS } from './access.js';
import { type GatewayToken, assertToken } from './tokens.js';

/** Configuration of a standalone gateway, as its file has it. */
export interface GatewayConfig {
  /** The topics that are served, by name; each has the options of a topic, which the connection checks. */
  readonly topics: Readonly<Record<string, object>>;
  readonly tokens: readonly GatewayToken[];
}

/**
 * Checks the content of a file. No error shows a token.
 *
 * @param more topics to serve beside those of the file
 * @throws InvalidArgumentError
 */
export function checkConfig(given: unknown, more: readonly string[]): GatewayConfig {
  assertObject('The configuration', given);
  assertOptions('The configuration', given, ['topics', 'tokens']);
  const { topics = {}, tokens = [] } = given;
  assertObject('topics of the configuration', topics);
  const all = Object.fromEntries([...more.map((topic) => [topic, {}]), ...Object.entries(topics)]);
  for (const [topic, options] of Object.entries(all)) {
    assertName('topic', topic);
    assertObject(`topics['${topic}']`, options);
  }
  if (!Array.isArray(tokens)) throw new InvalidArgumentError('tokens of the configuration must be an array.');
  return { topics: all as Record<string, object>, tokens: checkTokens(tokens, Object.keys(all)) };
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
  assertObject(place, given);
  assertOptions(place, given, ['name', 'token', 'rights']);
  const { name, token, rights } = given;
  assertName(`${place}.name`, name);
  assertToken(`${place}.token`, token);
  assertObject(`${place}.rights`, rights);
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
    assertOneOf(place, right, RIGHTS);
    return right;
  });
}

/** Does not show the given value, which may have a token in it. */
function assertObject(place: string, given: unknown): asserts given is Record<string, unknown> {
  if (!isPlainObject(given)) throw new InvalidArgumentError(`${place} must be an object.`);
}
