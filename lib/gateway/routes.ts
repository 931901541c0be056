import { MESSAGE_ROUTES } from './message.routes.js';
import { RECEIVING_ROUTES } from './receiving.routes.js';
import type { Route } from './route.js';
import { SCHEDULE_ROUTES } from './schedule.routes.js';
import { TOPIC_ROUTES } from './topic.routes.js';

/** All routes that need a right. */
export const ROUTES: readonly Route[] = [...MESSAGE_ROUTES, ...RECEIVING_ROUTES, ...TOPIC_ROUTES, ...SCHEDULE_ROUTES];
