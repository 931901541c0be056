import type { Stage } from './stage.js';

const TOPICS = 20;

/** Whoever boots and receives topics that nobody else does, and waits for nothing, gets what is due in each. */
export async function receiveAtOnce(stage: Stage): Promise<void> {
  const names = Array.from({ length: TOPICS }, (_, number) => `unreceived-${number}`);
  for (const name of names) {
    const { id } = await stage.publish(name, name);
    stage.scene.rules.messages.mayBeGone(id);
  }
  const process = await stage.restart();
  if (!process) return;
  const missed = await stage.answer(
    Promise.all(
      names.map(async (name) => {
        const received = await process.connection.receiver.receive(name);
        await Promise.all(received.map((message) => message.ack()));
        return received.length === 0 ? [name] : [];
      }),
    ),
  );
  const all = missed.flat();
  if (all.length > 0) stage.violated(`receive() says that nothing is due in ${all.join(', ')}`, all);
}
