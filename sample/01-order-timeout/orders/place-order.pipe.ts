import { BadRequestException, Injectable, type PipeTransform } from '@nestjs/common';
import type { PlaceOrder } from './order.interface.js';

@Injectable()
export class PlaceOrderPipe implements PipeTransform<unknown, PlaceOrder> {
  transform(body: unknown): PlaceOrder {
    const { item } = (body ?? {}) as { item?: unknown };
    if (typeof item !== 'string' || item.trim() === '') {
      throw new BadRequestException('item must be a string that is not empty');
    }
    return { item };
  }
}
