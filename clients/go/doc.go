// Package delayqueue is a client of the HTTP gateway of nestjs-delay-queue: messages that are delivered at a later time, at least once, by
// exactly one consumer at a time.
//
// A [Client] publishes, looks up, cancels and receives messages. A [Worker] receives them for a handler, several at once, renews their leases
// while the handler runs, and settles what became of them.
//
// Every call takes a context first. What fails on its way (a connection that breaks, a gateway that restarts, Redis away) is repeated with
// growing pauses, under one idempotency key for each call: so a publish whose response was lost is not published twice, and a settle that is
// repeated is answered as the first time.
package delayqueue
