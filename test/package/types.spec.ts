import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const run = promisify(execFile);

/** An application that says what belongs to a topic. Three lines do not fit. */
const APPLICATION = `
import { DelayedHandler, type DelayQueueProducer, topic } from 'nestjs-delay-queue';
import { z } from 'zod';

declare module 'nestjs-delay-queue' {
  interface DelayQueueTopics {
    'order.timeout': { orderId: string };
  }
}

export const reminder = topic('reminder', { schema: z.object({ at: z.coerce.date<string>() }) });

export class Orders {
  @DelayedHandler('order.timeout')
  onTimeout(_payload: { orderId: string }): void {}

  @DelayedHandler('order.timeout') // wrong
  onOther(_payload: { orderId: number }): void {}

  @DelayedHandler(reminder)
  onReminder(_payload: { at: Date }): void {}
}

export async function place(producer: DelayQueueProducer): Promise<void> {
  await producer.publish('order.timeout', { orderId: '42' });
  await producer.publish('order.timeout', { orderId: 42 }); // wrong
  await producer.publish(reminder, { at: '2026-01-01T00:00:00Z' });
  await producer.publish(reminder, { at: new Date() }); // wrong
  await producer.publish('order.shipped', { orderId: 42 });
}
`;

const SETTINGS = {
  compilerOptions: {
    target: 'ES2023',
    module: 'NodeNext',
    strict: true,
    // Checking those of all dependencies takes several times as long as the application.
    skipLibCheck: true,
    declaration: true,
    experimentalDecorators: true,
    types: ['node'],
    outDir: 'out',
  },
  files: ['app.ts'],
};

describe('the types of the built library', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'delay-queue-types-'));
    await mkdir(join(folder, 'node_modules', '@types'), { recursive: true });
    await symlink(resolve('.'), join(folder, 'node_modules', 'nestjs-delay-queue'));
    for (const name of ['zod', '@types/node']) {
      await symlink(resolve('node_modules', name), join(folder, 'node_modules', name));
    }
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(SETTINGS));
    await writeFile(join(folder, 'app.ts'), APPLICATION);
  });

  afterAll(async () => {
    await rm(folder, { recursive: true });
  });

  it('let an application type its topics, by schema and by name, and tell what does not fit', async () => {
    const { stdout } = await run(process.execPath, [resolve('node_modules/typescript/bin/tsc')], { cwd: folder }).catch(
      (error: { stdout: string }) => error,
    );
    const reported = Array.from(stdout.matchAll(/^(?! )(.+?),/gm), ([, place]) => place);
    const wrong = APPLICATION.split('\n').flatMap((line, i) => (line.endsWith('// wrong') ? [`app.ts(${i + 1}`] : []));
    expect(wrong).toHaveLength(3);
    expect(reported).toEqual(wrong);
  });
});
