import { describe, expect, it } from 'vitest';
import { useSample } from '../../support/samples/sample.js';

describe('sample/06-schedules-and-order', () => {
  const sample = useSample('06-schedules-and-order');

  it('plays a story of which every part comes true, and leaves nothing running', async () => {
    const warehouse = sample.start('main');
    await warehouse.printed('Every part of the story came true.');
    await warehouse.exit();

    expect(warehouse.ending).toBe(0);
    expect(warehouse.output.match(/✓/g)).toHaveLength(6);
    expect(await sample.stored.ofConsumers()).toEqual([]);
  });
});
