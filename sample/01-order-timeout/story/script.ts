import type { Order } from '../orders/order.interface.js';
import type { Cast, Stage } from './stage.interface.js';

/** Plays the part of the customers. */
export async function playCustomers({ shop, timeline }: Stage): Promise<Cast> {
  const place = async (item: string): Promise<Order> => {
    const order = await shop.place(item);
    timeline.tell(item, 'placed');
    return order;
  };
  const pay = async ({ id, item }: Order): Promise<void> => {
    await shop.pay(id);
    timeline.tell(item, 'paid');
  };

  const tea = await place('tea');
  const coffee = await place('coffee');
  const milk = await place('milk');
  const juice = await place('juice');

  await pay(coffee);
  await pay(milk);
  await shop.cancel(juice.id);
  timeline.tell(juice.item, 'cancelled by its customer');

  timeline.tell(coffee.item, 'its customer asks for a receipt, and for the shop to be reminded');
  await shop.askForReceipt(coffee.id);
  await shop.askForReminder(coffee.id);

  // The last order: once its timeout is handled, any wrong timeout of the others would have been handled too.
  const cocoa = await place('cocoa');

  return {
    unpaid: [tea, cocoa],
    paid: [coffee, milk],
    cancelled: juice,
    reminded: coffee,
    curtain: new Date(cocoa.payBy),
  };
}
