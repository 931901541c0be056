import 'reflect-metadata';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type INestApplicationContext, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayedHandler, DelayQueueEvents, DelayQueueModule } from 'nestjs-delay-queue';

/** What this program is; JSON in its first argument. */
export interface MembersConfig {
  readonly redis: string;
  readonly topics: number;
  /** Of each topic. */
  readonly partitions: number;
  /** How many applications it runs, each of which is a process of the fleet to the others. */
  readonly members: number;
}

/** What this program answers to `report`. At `leave` its members leave, and it ends. */
export interface MembersReport {
  /** How many members have booted. */
  readonly booted: number;
  /** The partitions that its members own. */
  readonly owned: number;
  /** How often they have taken a partition. */
  readonly taken: number;
  /** When they took or lost one last, epoch milliseconds. */
  readonly movedAt: number;
  /** Their CPU time so far, in milliseconds. */
  readonly cpu: number;
  /** For how long the event loop was blocked at most since the answer before, in milliseconds. */
  readonly blocked: number;
}

const { redis, topics, partitions, members } = JSON.parse(process.argv[2] ?? '{}') as MembersConfig;

@Injectable()
class Workers {}

// A handler for each topic, as an application has that handles many kinds of messages.
for (let i = 0; i < topics; i++) {
  const descriptor: TypedPropertyDescriptor<() => void> = {
    value: () => {
      throw new Error('A message came, although none was published');
    },
  };
  Object.defineProperty(Workers.prototype, `handle${i}`, descriptor);
  DelayedHandler(`fleet.${i}`)(Workers.prototype, `handle${i}`, descriptor);
}

let owned = 0;
let taken = 0;
let movedAt = Date.now();

@Injectable()
class Census {
  constructor(events: DelayQueueEvents) {
    events.ownership.subscribe((event) => {
      owned += event.owned ? 1 : -1;
      if (event.owned) taken++;
      movedAt = Date.now();
    });
  }
}

@Module({
  imports: [DelayQueueModule.forRoot({ redis, prefix: 'members', defaults: { partitions } })],
  providers: [Workers, Census],
})
class MemberModule {}

const delays = monitorEventLoopDelay({ resolution: 1 });
delays.enable();
const apps: INestApplicationContext[] = [];

async function leave(): Promise<void> {
  await Promise.all(apps.map(async (app) => app.close()));
  process.exit(0);
}

function report(): void {
  const { user, system } = process.cpuUsage();
  const cpu = (user + system) / 1000;
  const answer: MembersReport = { booted: apps.length, owned, taken, movedAt, cpu, blocked: delays.max / 1e6 };
  delays.reset();
  process.send?.(answer);
}

process.on('message', (message) => {
  if (message === 'leave') void leave();
  else report();
});
// The parent process has died.
process.on('disconnect', () => process.exit(1));
for (let i = 0; i < members; i++) {
  apps.push(await NestFactory.createApplicationContext(MemberModule, { logger: ['error', 'warn'] }));
}
