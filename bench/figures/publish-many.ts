import { BULLMQ, type FigureOf, grouped } from './figure.js';
import { PUBLISH_MEASURES, publishTrials } from './support/publish-trials.js';

const PER_CALL = 500;

export const publishMany: FigureOf = (sizes) => ({
  name: 'publish-many',
  title: 'Publishing many at once',
  description:
    `One process publishes ${grouped(sizes.publish)} messages, ${PER_CALL} per call and one call after another: ` +
    `\`publishMany()\`, BullMQ's \`addBulk()\`, bee-queue's \`saveAll()\`.`,
  measures: PUBLISH_MEASURES,
  baseline: BULLMQ,
  trials: publishTrials(sizes, { perCall: PER_CALL, inTheAir: 1 }),
});
