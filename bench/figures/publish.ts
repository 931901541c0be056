import { BULLMQ, type FigureOf, grouped } from './figure.js';
import { PUBLISH_MEASURES, publishTrials } from './support/publish-trials.js';

const IN_THE_AIR = 500;

export const publish: FigureOf = (sizes) => ({
  name: 'publish',
  title: 'Publishing one by one',
  description:
    `One process makes ${grouped(sizes.publish)} calls, ${IN_THE_AIR} of them concurrently: ` +
    `\`publish()\`, BullMQ's \`add()\`, bee-queue's \`save()\`.`,
  measures: PUBLISH_MEASURES,
  baseline: BULLMQ,
  trials: publishTrials(sizes, { perCall: 1, inTheAir: IN_THE_AIR }),
});
