package delayqueue

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

const (
	// A settle is repeated for as long as the gateway remembers its idempotency key, and no longer than the lease.
	settleFor = 2 * time.Minute
	// The gateway keeps no longer reasons.
	maxReason = 2000
)

// delivery is one message in the hands of a worker. A worker loses it if its lease ends, and leaves it if it ends before the handler does;
// in both cases nothing is settled any more.
type delivery struct {
	run     *workerRun
	message *Message
	// handling is the handler's context.
	handling     context.Context
	stopHandling context.CancelFunc
	settling     context.Context
	stopSettling context.CancelFunc

	mutex sync.Mutex
	// leaseEnd fires when the lease has ended without having been renewed; nil if there is no lease, or the delivery is over.
	leaseEnd *time.Timer
	// gone: the message is lost, left or settled.
	gone bool
	// handled: the handler has ended.
	handled bool
	// cancelled: that happened to the message.
	cancelled bool
	// interrupted: the worker has ended the handler's context, so an error of it is not the message's fault.
	interrupted bool
}

func newDelivery(run *workerRun, message *Message) *delivery {
	one := &delivery{run: run, message: message}
	one.handling, one.stopHandling = context.WithCancel(detached{run.ctx})
	one.settling, one.stopSettling = context.WithCancel(run.settling)
	if one.isLeased() {
		one.mutex.Lock()
		defer one.mutex.Unlock()
		one.leaseEnd = time.AfterFunc(run.options.Lease, one.lose)
	}
	return one
}

// isLeased is false for messages of a topic that delivers at most once: nothing is to be renewed or settled.
func (d *delivery) isLeased() bool {
	return !d.message.LeaseEndsAt.IsZero()
}

// handle calls the handler, and settles what became of it. A worker that ends begins nothing any more: what it still gets goes back.
func (d *delivery) handle() {
	defer d.close()
	if d.run.ctx.Err() != nil {
		d.settle(Settlement{Outcome: Release})
		return
	}
	err := d.callHandler()
	d.mutex.Lock()
	d.handled = true
	interrupted := d.interrupted
	d.mutex.Unlock()
	if err != nil {
		d.run.options.OnError(d.message, err)
	}
	d.settle(settlementFor(err, interrupted))
}

// callHandler turns a panic into an error, and also [runtime.Goexit], which FailNow of a test calls.
func (d *delivery) callHandler() error {
	ended := make(chan error, 1)
	go func() {
		failure := errors.New("the handler ended its goroutine")
		defer func() {
			if value := recover(); value != nil {
				failure = &PanicError{Value: value, Stack: debug.Stack()}
			}
			ended <- failure
		}()
		failure = d.run.handler(d.handling, d.message)
	}()
	return <-ended
}

func settlementFor(err error, interrupted bool) Settlement {
	var later *retryLater
	var given *giveUp
	switch {
	case err == nil:
		return Settlement{Outcome: Ack}
	case errors.As(err, &given):
		return Settlement{Outcome: Dead, Reason: reasonOf(err)}
	case errors.As(err, &later):
		return Settlement{Outcome: Retry, Delay: &later.delay, Reason: reasonOf(err)}
	case interrupted:
		return Settlement{Outcome: Release}
	default:
		return Settlement{Outcome: Retry, Reason: reasonOf(err)}
	}
}

func reasonOf(err error) string {
	reason := strings.ToValidUTF8(err.Error(), "\uFFFD")
	if runes := []rune(reason); len(runes) > maxReason {
		return string(runes[:maxReason])
	}
	return reason
}

// settle repeats for as long as the lease lasts, which is renewed until this is done. If the message is gone, nothing is sent.
func (d *delivery) settle(settlement Settlement) {
	if !d.isLeased() {
		return
	}
	settlement.Receipt = d.message.Receipt
	results, err := d.run.client.settle(d.settling, settleFor, []Settlement{settlement})
	switch {
	case d.isGone():
		// It was lost or left meanwhile, which was told already.
	case err != nil:
		d.run.options.OnError(d.message, fmt.Errorf("it was not settled (%s), so it comes again: %w", settlement.Outcome, err))
	case results[0].Status == Stale:
		d.run.options.OnError(d.message, fmt.Errorf("%w: it was settled too late (%s)", ErrLeaseLost, settlement.Outcome))
	}
}

// renewed takes note of what became of an extension of the lease.
func (d *delivery) renewed(status ExtendStatus, until time.Time) {
	switch status {
	case LeaseLost:
		// While it is being settled, that is what one expects.
		if !d.isHandled() {
			d.lose()
		}
	case LeaseCancelled:
		// It keeps its lease: its handler may need a while to end, and nothing else may run meanwhile.
		d.keepUntil(until)
		d.cancel()
	default:
		d.keepUntil(until)
	}
}

func (d *delivery) keepUntil(end time.Time) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.leaseEnd != nil {
		d.leaseEnd.Reset(time.Until(end))
	}
}

func (d *delivery) cancel() {
	d.mutex.Lock()
	first := !d.cancelled && !d.handled
	d.cancelled = true
	d.mutex.Unlock()
	if first {
		d.stopHandling()
		d.run.options.OnError(d.message, ErrMessageCancelled)
	}
}

// lose stops the handler and the settling: the message may be delivered elsewhere.
func (d *delivery) lose() {
	if d.goAway() {
		d.close()
		d.run.options.OnError(d.message, ErrLeaseLost)
	}
}

// interrupt tells the handler to end.
func (d *delivery) interrupt() {
	d.mutex.Lock()
	d.interrupted = true
	d.mutex.Unlock()
	d.stopHandling()
}

// leave takes the message from its handler, and says whether it was still there.
func (d *delivery) leave() bool {
	left := d.goAway()
	d.close()
	return left
}

// close ends the contexts and the lease, as far as this worker is concerned. A handler that ends at once finds nothing to settle any more.
func (d *delivery) close() {
	d.goAway()
	d.stopSettling()
	d.stopHandling()
}

// goAway says whether it was this call that made the message go.
func (d *delivery) goAway() bool {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	first := !d.gone
	d.gone = true
	if d.leaseEnd != nil {
		d.leaseEnd.Stop()
		d.leaseEnd = nil
	}
	return first
}

func (d *delivery) isGone() bool {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.gone
}

func (d *delivery) isHandled() bool {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.handled
}
