// The gateway, `nestjs-delay-queue/gateway`: anything not named here can change at any time.

export { DelayQueueGatewayModule, type DelayQueueGatewayOptions, type GatewayHttpRequest } from './gateway.module.js';
export type { GatewayAccess, GatewayRight } from './access.js';
export type { HttpRequest } from '../http/framework.js';
