import type { ForwardTarget } from './forward/forward-target.js';
import type { PushTarget } from './push/push-target.js';

/** Where the messages of a topic go in place of a handler, and the option that says so. */
export type OutboundTarget =
  | { readonly option: 'push'; readonly target: PushTarget }
  | { readonly option: 'forward'; readonly target: ForwardTarget };
