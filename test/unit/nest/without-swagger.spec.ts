import { DelayQueueDashboardModule } from 'nestjs-delay-queue/dashboard';
import { DelayQueueGatewayModule } from 'nestjs-delay-queue/gateway';
import { expect, it } from 'vitest';

it.each([
  DelayQueueDashboardModule.forRoot({ access: () => 'read' }),
  DelayQueueGatewayModule.forRoot({ topics: ['jobs'], access: () => true }),
])('keeps what is mounted out of the document of the application: $module.name', ({ controllers = [] }) => {
  // As @nestjs/swagger reads it.
  const excluded = controllers.map((one) => Reflect.getMetadata('swagger/apiExcludeController', one) as unknown);
  expect(excluded).toEqual([[true]]);
});
