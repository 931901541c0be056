import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { DelayQueueContext } from 'nestjs-delay-queue';
import { AppConfig } from '../config/app.config.js';
import { TENANT } from './invoice-mail.topic.js';

/** Lets pass what belongs to a tenant; what it refuses is a dead letter. */
@Injectable()
export class TenantGuard implements CanActivate {
  constructor(private readonly config: AppConfig) {}

  canActivate(context: ExecutionContext): boolean {
    const tenant = DelayQueueContext.from(context).message.headers[TENANT];
    return tenant !== undefined && this.config.tenants.has(tenant);
  }
}
