import { expect, it } from 'vitest';
import { ACTING_ROUTES } from '../../../lib/dashboard/acting.routes.js';

it('each route that changes something asks for the right to just that', () => {
  expect(Object.fromEntries(Object.entries(ACTING_ROUTES).map(([path, { right }]) => [path, right]))).toEqual({
    'api/cancel': 'cancel',
    'api/reschedule': 'reschedule',
    'api/run-now': 'runNow',
    'api/edit': 'edit',
    'api/requeue': 'requeue',
    'api/remove': 'remove',
    'api/pause': 'pause',
    'api/hold': 'hold',
    'api/resume': 'resume',
    'api/messages/cancel': 'cancel',
    'api/messages/reschedule': 'reschedule',
    'api/messages/run-now': 'runNow',
    'api/dead/requeue': 'requeue',
    'api/dead/remove': 'remove',
    'api/drain': 'drain',
    'api/purge': 'purge',
    'api/schedules/pause': 'pauseSchedule',
    'api/schedules/resume': 'resumeSchedule',
    'api/schedules/run-now': 'runScheduleNow',
    'api/schedules/remove': 'removeSchedule',
    // That of the operation that is stopped.
    'api/operations/stop': expect.any(Function),
  });
});
