import type { INestApplicationContext, Type } from '@nestjs/common';
import type {
  DelayQueueAdmin,
  DelayQueueConsumers,
  DelayQueueEvents,
  DelayQueueHealth,
  DelayQueueProducer,
  DelayQueueReceiver,
  DelayQueueSchedules,
} from 'nestjs-delay-queue';
import type { DelayQueueHarness } from 'nestjs-delay-queue/testing';
import type { ConfirmChannel } from 'amqplib';
import type { Knex } from 'knex';

// What the excerpts of the documents take for granted, for the compiler. Who runs an excerpt gives what it uses of this.

export declare const app: INestApplicationContext;
export declare const admin: DelayQueueAdmin;
export declare const consumers: DelayQueueConsumers;
export declare const harness: DelayQueueHarness;
export declare const events: DelayQueueEvents;
export declare const health: DelayQueueHealth;
export declare const producer: DelayQueueProducer;
export declare const receiver: DelayQueueReceiver;
export declare const receipt: string;
export declare const schedules: DelayQueueSchedules;
export declare const redis: string;
export declare const knex: Knex;
export declare const trx: Knex.Transaction;
export declare const orderId: string;
export declare const rabbit: string;
export declare const channel: ConfirmChannel;

export declare class AppConfig {
  readonly redisUrl: string;
}

export declare class AlertService {
  send(text: string): Promise<void>;
}

export declare class InvoiceDto {
  sendTo(recipient: string | undefined): Promise<void>;
}

export declare class ReportCache {
  fill(): Promise<void>;
}

export declare class GraphicsCard {
  render(payload: unknown, signal: AbortSignal): Promise<void>;
}

export declare const Reports: Type;

export declare function compactFiles(): Promise<void>;

export declare const ConfigModule: Type;
export declare const AppModule: Type;

export declare function isNew(id: string | string[] | undefined): Promise<boolean>;
export declare function closeOrder(order: unknown): Promise<void>;
export declare function remind(cart: unknown, shop: unknown): void;
export declare function serviceOf(headers: object): string | undefined;
export declare function staffOf(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): { readonly email: string; readonly isOnCall: boolean } | undefined;
