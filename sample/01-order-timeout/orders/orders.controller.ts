import { Body, Controller, Get, HttpCode, HttpStatus, Param, Post } from '@nestjs/common';
import type { Order, PlaceOrder } from './order.interface.js';
import { OrdersService } from './orders.service.js';
import { PlaceOrderPipe } from './place-order.pipe.js';

@Controller('orders')
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  @Post()
  place(@Body(PlaceOrderPipe) body: PlaceOrder): Promise<Order> {
    return this.orders.place(body);
  }

  @Get()
  list(): Order[] {
    return this.orders.list();
  }

  @Get(':id')
  get(@Param('id') id: string): Order {
    return this.orders.get(id);
  }

  @Post(':id/pay')
  @HttpCode(HttpStatus.OK)
  pay(@Param('id') id: string): Promise<Order> {
    return this.orders.pay(id);
  }

  @Post(':id/cancel')
  @HttpCode(HttpStatus.OK)
  cancel(@Param('id') id: string): Promise<Order> {
    return this.orders.cancel(id);
  }
}
