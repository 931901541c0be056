import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { DelayQueueContext } from 'nestjs-delay-queue';
import { AppConfig } from '../config/app.config.js';
import { TENANT } from './invoice-mail.topic.js';

/** Lets messages of known tenants pass; refused messages become dead letters. */
@Injectable()
export class TenantGuard implements CanActivate {
  constructor(private readonly config: AppConfig) {}

  canActivate(context: ExecutionContext): boolean {
    const tenant = DelayQueueContext.from(context).message.headers[TENANT];
    return tenant !== undefined && this.config.tenants.has(tenant);
  }
}
