import type { Drill } from '../drill.js';
import { MovingAddress } from '../servers/moving-address.js';

/** How long publishing and handling may stop, in milliseconds. Those that waited meanwhile are handled within as long again. */
const STOP = 2000;

export const movedAddress: Drill = {
  name: 'moved-address',
  shows: 'FAILOVER behind one address: connections that stay open end at a replica',
  times: 10,
  short: 3,
  async run(stage, times) {
    const servers = await stage.use(MovingAddress.start());
    await stage.startFleet();
    for (let i = 0; i < times; i++) {
      await stage.pause(1500, 2500);
      await stage.disturb('FAILOVER', async () => servers.failover(stage.random.between(0, 300)));
    }
    await stage.pause(1500);
    await stage.finish({ publishingStops: STOP, handlingStops: STOP, latest: 2 * STOP, confirmsAll: true });
  },
};
