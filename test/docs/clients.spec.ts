import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openApiDocument } from '../../lib/gateway/openapi.js';
import { ROUTES } from '../../lib/gateway/routes.js';

type Client = 'go' | 'php' | 'python';

/** What the clients call the answers of the gateway. Where one is left out, the client gives it as it is told. */
const TYPES: Readonly<Record<string, Readonly<Partial<Record<Client, string>>>>> = {
  PublishedMessage: { go: 'Published', php: 'PublishedMessage', python: 'PublishedMessage' },
  Message: { go: 'Details', php: 'MessageDetails', python: 'StoredMessage' },
  Failure: { go: 'Failure', python: 'Failure' },
  FailedAttempt: { go: 'FailedAttempt', python: 'FailedAttempt' },
  CancelTaggedResult: { go: 'CancelledTagged', php: 'TagCancellation', python: 'CancelledTagged' },
  ReceivedMessage: { go: 'Message', php: 'ReceivedMessage', python: 'ReceivedMessage' },
  SettleResult: { go: 'Result', python: 'SettleResult' },
  ExtendResult: { go: 'Result', python: 'ExtendResult' },
  TopicStats: { go: 'Stats', php: 'TopicStats', python: 'TopicStats' },
  PartitionStats: { go: 'PartitionStats' },
  TopicCounters: { go: 'Counters' },
  Explanation: { go: 'Explanation', php: 'Explanation', python: 'Explanation' },
  ExplainFacts: { go: 'Facts' },
  Receiver: { go: 'Receiver' },
  Schedule: { go: 'Schedule', php: 'Schedule', python: 'Schedule' },
  FailedSchedules: { php: 'FailedSchedules', python: 'FailedSchedules' },
};

interface Document {
  readonly components: { readonly schemas: Readonly<Record<string, { readonly properties?: object }>> };
}

const { schemas } = (openApiDocument(ROUTES, { tokens: false }) as Document).components;

function sourceOf(folder: string, end: string): string {
  const files = readdirSync(folder).filter((file) => file.endsWith(end) && !file.endsWith('_test.go'));
  return files.map((file) => readFileSync(join(folder, file), 'utf8')).join('\n');
}

const SOURCES: Readonly<Record<Client, string>> = {
  go: sourceOf('clients/go', '.go'),
  php: sourceOf('clients/php/src', '.php'),
  python: sourceOf('clients/python/src/nestjs_delay_queue', '.py'),
};

/** Where a type is declared, and what a property of it looks like there. */
const DECLARATIONS: Readonly<Record<Client, readonly [(type: string) => RegExp, RegExp]>> = {
  go: [(type) => new RegExp(`^type ${type} struct \\{\n(.*?)^\\}`, 'ms'), /json:"(\w+)"|^\t([A-Z]\w+)$/gm],
  php: [
    (type) => new RegExp(`^final class ${type}\n.*?__construct\\((.*?)\\) \\{\\}`, 'ms'),
    /public readonly \S+ \$(\w+)/g,
  ],
  python: [
    (type) => new RegExp(`^class ${type}\\(Answer\\):\n(.*?)^(?=\\S)`, 'ms'),
    /^ {4}([a-z]\w*): (?!.*init=False)/gm,
  ],
};

function propertiesOf(client: Client, type: string): string[] {
  const [declaration, property] = DECLARATIONS[client];
  const body = declaration(type).exec(SOURCES[client])?.[1] ?? '';
  return [...body.matchAll(property)].flatMap(([, name = '', embedded]) =>
    embedded === undefined ? [camelCase(name)] : propertiesOf(client, embedded),
  );
}

function camelCase(name: string): string {
  return name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

describe('the types of the clients', () => {
  const rows = Object.entries(TYPES).flatMap(([answer, types]) =>
    Object.entries(types).map(([client, type]) => ({ answer, client: client as Client, type })),
  );

  it.each(rows)('$type in $client has what the document of the gateway says of $answer', ({ answer, client, type }) => {
    expect(propertiesOf(client, type).toSorted()).toEqual(Object.keys(schemas[answer]?.properties ?? {}).toSorted());
  });
});
