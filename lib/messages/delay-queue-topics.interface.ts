/**
 * The payload types of topics that are named by plain strings. Empty until an application fills it in:
 *
 * @example
 * ```ts
 * declare module 'nestjs-delay-queue' {
 *   interface DelayQueueTopics {
 *     'order.timeout': { orderId: string };
 *   }
 * }
 * ```
 *
 * @publicApi
 */
export interface DelayQueueTopics {}
