import { describe, expect, it, onTestFinished, vi } from 'vitest';
import * as names from '../../lib/opentelemetry/semantic-conventions.js';
import { SpanLog } from '../support/readings/span-log.js';
import { useKitBed } from '../support/kit/kit-bed.js';
import { SPANS_OF_A_MESSAGE, handleOneOf } from './drivers/tracing.js';
import { DrivenDocument } from './support/driven-document.js';
import { readDocument, section, table } from './support/markdown.js';
import { propertiesOf, stringsOf } from './support/source.js';

const text = readDocument('docs/tracing.md');
const document = new DrivenDocument('docs/tracing.md');

useKitBed();

document.drive('Tracing #1', (run) => {
  it('prints the spans of a message', async () => {
    const dir = vi.spyOn(console, 'dir').mockReturnValue();
    onTestFinished(() => new SpanLog().unregister());
    await handleOneOf(run);

    expect(dir.mock.calls.map(([span]) => (span as { name: string }).name)).toEqual(SPANS_OF_A_MESSAGE);
    dir.mockRestore();
  });
});

describe('docs/tracing.md', () => {
  it('has a driver for each block', () => {
    expect(document.drivers).toEqual(document.blocks);
  });

  it('has every option', () => {
    const path = 'lib/opentelemetry/open-telemetry.ts';
    const known = propertiesOf(path, 'OpenTelemetryOptions');
    expect([...table(section(text, 'Options'), 'option').keys()]).toEqual(known);
    expect(stringsOf(path, 'OPTIONS')).toEqual(known);
  });

  it('has every attribute', () => {
    const { SYSTEM, ...attributes } = names;
    const rows = table(section(text, 'Attributes'), 'attribute');
    expect([...rows.keys()].toSorted()).toEqual(Object.values(attributes).toSorted());
    expect(rows.get(names.MESSAGING_SYSTEM_NAME)?.join()).toContain(SYSTEM);
  });

  it('has every kind of span', () => {
    const spans = [...table(section(text, 'Spans'), 'span').keys()];
    expect(spans.map((span) => span.split(' ')[0])).toEqual(['send', 'create', 'process', 'settle']);
  });
});
