// The gateway, `nestjs-delay-queue/gateway`: what is not named here may change at any time.

export { DelayQueueGatewayModule, type DelayQueueGatewayOptions, type GatewayHttpRequest } from './gateway.module.js';
export type { GatewayAccess, GatewayRight } from './access.js';
export type { HttpRequest } from '../http/framework.js';
