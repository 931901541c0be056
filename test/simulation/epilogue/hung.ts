import type { Stage } from './stage.js';

const HUNG = 120;
const HANGS = 120_000;

/** How soon all of them are dead letters, in milliseconds: each process has room for a few at a time. */
const DEAD = 20_000;

/** Handlers hang and ignore their signals: their messages end as dead letters, they take no slots, and health tells of them. */
export async function hang(stage: Stage): Promise<void> {
  const [topic] = stage.handled('hanging');
  if (topic === undefined) return;
  const { rules, server } = stage.scene;
  for (let i = 0; i < HUNG; i++) {
    const { id } = await stage.publish(topic, `hung-${i}`, { takes: HANGS, hangs: true });
    rules.messages.mayBeGone(id);
  }
  await stage.wait(DEAD);
  const keys = server.data.keys.filter((key) => key.startsWith(`{dq:${topic}:`) && key.endsWith(':dead'));
  const dead = keys.reduce((sum, key) => sum + Number(server.data.call('ZCARD', key)), 0);
  if (dead < HUNG) stage.violated(`${dead} of ${HUNG} messages are dead letters whose handlers hang`);
  for (let i = 0; i < 20; i++) await stage.publish(topic, `beside-${i}`);
  await stage.assertHandled(DEAD, 'handlers have hung');
  const told = await stage.answer(Promise.all(stage.running.map(({ connection }) => connection.health.check())));
  const count = told.reduce((sum, { abandoned }) => sum + abandoned.count, 0);
  if (count < HUNG) stage.violated(`health tells of ${count} handlers that hang, of ${HUNG}`);
}
