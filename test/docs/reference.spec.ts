import { afterEach, vi } from 'vitest';
import { useKitBed } from '../support/kit/kit-bed.js';
import { admin } from './drivers/admin.js';
import { doctor } from './drivers/doctor.js';
import { eventsAndLogging } from './drivers/events.js';
import { handling } from './drivers/handling.js';
import { metrics } from './drivers/metrics.js';
import { middleware } from './drivers/middleware.js';
import { options } from './drivers/options.js';
import { pipeline } from './drivers/pipeline.js';
import { publishing } from './drivers/publishing.js';
import { redis } from './drivers/redis.js';
import { testing } from './drivers/testing.js';
import { driveDocuments } from '../support/docs/driven-document.js';

useKitBed();

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
  vi.useRealTimers();
});

driveDocuments('docs/reference', {
  'admin.md': admin,
  'doctor.md': doctor,
  'events.md': eventsAndLogging,
  'handling.md': handling,
  'metrics.md': metrics,
  'middleware.md': middleware,
  'options.md': options,
  'pipeline.md': pipeline,
  'publishing.md': publishing,
  'redis.md': redis,
  'testing.md': testing,
});
