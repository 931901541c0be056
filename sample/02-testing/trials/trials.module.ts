import { Module } from '@nestjs/common';
import { MailModule } from '../mail/mail.module.js';
import { PaymentsModule } from '../payments/payments.module.js';
import { TrialsService } from './trials.service.js';

@Module({
  imports: [MailModule, PaymentsModule],
  providers: [TrialsService],
  exports: [TrialsService],
})
export class TrialsModule {}
