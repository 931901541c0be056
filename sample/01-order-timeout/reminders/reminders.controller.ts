import { Controller, HttpCode, HttpStatus, Param, Post } from '@nestjs/common';
import { RemindersService } from './reminders.service.js';

@Controller('orders/:id')
export class RemindersController {
  constructor(private readonly reminders: RemindersService) {}

  @Post('receipt')
  @HttpCode(HttpStatus.ACCEPTED)
  async mailReceipt(@Param('id') id: string): Promise<void> {
    await this.reminders.mailReceipt(id);
  }

  @Post('reminder')
  @HttpCode(HttpStatus.ACCEPTED)
  async remindShop(@Param('id') id: string): Promise<void> {
    await this.reminders.remindShop(id);
  }
}
