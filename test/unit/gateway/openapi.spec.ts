import { expect, it } from 'vitest';
import { openApiDocument } from '../../../lib/gateway/openapi.js';
import { documentRoute, healthRoute } from '../../../lib/gateway/own.routes.js';
import { ROUTES } from '../../../lib/gateway/routes.js';

type Part = Readonly<Record<string, unknown>>;

function isPart(value: unknown): value is Part {
  return typeof value === 'object' && value !== null;
}

/** Whether a text stands beside a utility type of TypeScript: it says nothing of our type. */
const OF_TYPESCRIPT = /^(?:Make|From|Construct|Exclude|Extract|Obtain) |\bT\b/;

/** Where a property or a parameter is that nothing is said of. What refers to a schema is described there. */
function undescribed(part: unknown, place: string): string[] {
  if (!isPart(part)) return [];
  const named: [string, unknown][] = isPart(part['properties']) ? Object.entries(part['properties']) : [];
  if (typeof part['in'] === 'string') named.push([String(part['name']), part]);
  const bare = named.filter(([, one]) => isPart(one) && !('description' in one) && !('$ref' in one));
  const inner = Object.entries(part).flatMap(([name, one]) => undescribed(one, `${place}/${name}`));
  return [...bare.map(([name]) => `${place}.${name}`), ...inner];
}

it('says of each property and each parameter what it means, and of each schema', () => {
  const own = [documentRoute(() => ({})), healthRoute(async () => true)];
  const document = openApiDocument([...ROUTES, ...own], { tokens: true }) as Part;
  const { schemas } = document['components'] as { readonly schemas: Readonly<Record<string, Part>> };
  // A code of a problem is described once, and each route says which ones it has.
  const places = undescribed(document, '').filter((place) => !place.endsWith('/allOf/1.code'));
  const bare = Object.entries(schemas).filter(
    ([, { description }]) => typeof description !== 'string' || OF_TYPESCRIPT.test(description),
  );
  expect([places, bare.map(([name]) => name)]).toEqual([[], []]);
});
