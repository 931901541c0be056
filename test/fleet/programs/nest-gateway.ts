import { once } from 'node:events';
import type { GatewaySettings } from '../../support/gateway/gateway.js';
import { startNestGateway } from '../../support/gateway/nest-gateway.js';

/** An application with a gateway. Its address is printed, and it runs until it is ended. */
const [settings = ''] = process.argv.slice(2);
const gateway = await startNestGateway(JSON.parse(settings) as GatewaySettings);
process.stdout.write(`The gateway is at ${gateway.url}\n`);
await Promise.race(['SIGTERM', 'disconnect'].map(async (signal) => once(process, signal)));
await gateway.close();
