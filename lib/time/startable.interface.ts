/**
 * Lifecycle of every loop of the runtime.
 *
 * - `start()` resolves once the component works; calling it again changes nothing.
 * - `stop()` resolves once nothing of the component runs any more: no timer, no call under way. It can be called twice, and before
 * `start()`. A stopped component is not started again.
 */
export interface Startable {
  start(): Promise<void> | void;
  stop(): Promise<void> | void;
}
