import { afterEach, vi } from 'vitest';
import { useKitBed } from '../support/kit/kit-bed.js';
import { administration } from './drivers/administration.js';
import { dashboard } from './drivers/dashboard.js';
import { debounce } from './drivers/debounce.js';
import { deadLetters } from './drivers/dead-letters.js';
import { deployment } from './drivers/deployment.js';
import { finished } from './drivers/finished.js';
import { firstSteps } from './drivers/first-steps.js';
import { forward } from './drivers/forward.js';
import { fromBullmq } from './drivers/from-bullmq.js';
import { fromNestjsSchedule } from './drivers/from-nestjs-schedule.js';
import { fromRabbitmqDelayedMessage } from './drivers/from-rabbitmq-delayed-message.js';
import { gateway } from './drivers/gateway.js';
import { health } from './drivers/health.js';
import { intake } from './drivers/intake.js';
import { limits } from './drivers/limits.js';
import { operations } from './drivers/operations.js';
import { order } from './drivers/order.js';
import { push } from './drivers/push.js';
import { receiving } from './drivers/receiving.js';
import { schedules } from './drivers/schedules.js';
import { tags } from './drivers/tags.js';
import { tracing } from './drivers/tracing.js';
import { transactions } from './drivers/transactions.js';
import { driveDocuments } from '../support/docs/driven-document.js';

useKitBed();

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

driveDocuments('docs/guides', {
  'administration.md': administration,
  'dashboard.md': dashboard,
  'dead-letters.md': deadLetters,
  'debounce.md': debounce,
  'deployment.md': deployment,
  'finished.md': finished,
  'first-steps.md': firstSteps,
  'forward.md': forward,
  'from-bullmq.md': fromBullmq,
  'from-nestjs-schedule.md': fromNestjsSchedule,
  'from-rabbitmq-delayed-message.md': fromRabbitmqDelayedMessage,
  'gateway.md': gateway,
  'health.md': health,
  'intake.md': intake,
  'limits.md': limits,
  'operations.md': operations,
  'order.md': order,
  'push.md': push,
  'receiving.md': receiving,
  'schedules.md': schedules,
  'tags.md': tags,
  'tracing.md': tracing,
  'transactions.md': transactions,
});
