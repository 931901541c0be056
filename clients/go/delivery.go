package delayqueue

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// delivery is one message in the hands of a worker.
type delivery struct {
	run     *workerRun
	message *Message
	// handling is the handler's context.
	handling context.Context
	stop     context.CancelFunc
	// keeping is done when the lease need not be kept any more.
	keeping context.Context
	letGo   context.CancelFunc
	// decided is set by who says what becomes of the message: its handler, or who keeps the lease, if it is lost or the worker ends before.
	decided atomic.Bool
}

func (r *workerRun) begin(message *Message) {
	d := &delivery{run: r, message: message}
	if r.options.Timeout > 0 {
		d.handling, d.stop = context.WithTimeout(r.handling, r.options.Timeout)
	} else {
		d.handling, d.stop = context.WithCancel(r.handling)
	}
	d.keeping, d.letGo = context.WithCancel(r.holding)
	if d.isLeased() {
		r.keepers.Add(1)
		go d.keepLease(time.Now())
	}
	go d.handle()
}

// isLeased is false for messages that are delivered at most once: nothing is to be renewed or settled.
func (d *delivery) isLeased() bool { return d.message.Lease > 0 }

// decide is true for the first who asks.
func (d *delivery) decide() bool { return d.decided.CompareAndSwap(false, true) }

// handle calls the handler and settles what became of the message. What still comes when the worker ends goes back, if it can.
func (d *delivery) handle() {
	defer func() { <-d.run.slots }()
	if d.run.ctx.Err() != nil && d.isLeased() {
		d.finish(Settlement{Outcome: Release})
		return
	}
	err := errors.New("the handler ended its goroutine")
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Value: value, Stack: debug.Stack()}
		}
		if err != nil {
			d.run.options.OnError(d.message, err)
		}
		d.finish(d.settlementFor(err))
	}()
	err = d.run.handler(d.handling, d.message)
	if err != nil && errors.Is(d.handling.Err(), context.DeadlineExceeded) {
		err = &timeoutError{d.run.options.Timeout, err}
	}
}

func (d *delivery) settlementFor(err error) Settlement {
	if err == nil {
		return Settlement{Outcome: Ack}
	}
	var later *retryLater
	var given *unrecoverable
	switch {
	case errors.As(err, &given):
		return Settlement{Outcome: Dead, Error: toHandlerError(err)}
	case errors.As(err, &later):
		return Settlement{Outcome: Release, Delay: &later.delay}
	case d.run.handling.Err() != nil:
		// The worker has told the handler to end, so the error is not the message's fault.
		return Settlement{Outcome: Release}
	default:
		return Settlement{Outcome: Retry, Error: toHandlerError(err)}
	}
}

// finish settles, unless the message was lost or left before.
func (d *delivery) finish(settlement Settlement) {
	isOwn := d.decide()
	d.letGo()
	d.stop()
	if isOwn && d.isLeased() {
		d.settle(settlement)
	}
}

func (d *delivery) settle(settlement Settlement) {
	settlement.Receipt = d.message.Receipt
	status, err := d.run.settler.ask(d.run.holding, settlement)
	d.tell(settlement, status, err)
}

// releaseAtTheEnd is for when nothing else is settled any more.
func (d *delivery) releaseAtTheEnd() {
	ctx, cancel := context.WithTimeout(detached{d.run.ctx}, releaseTimeout)
	defer cancel()
	settlement := Settlement{Receipt: d.message.Receipt, Outcome: Release}
	status, err := only(d.run.client.settle(ctx, d.run.options.settleFor(), settlement))
	d.tell(settlement, status, err)
}

func (d *delivery) tell(settlement Settlement, status Status, err error) {
	switch {
	case err != nil:
		d.run.options.OnError(d.message, fmt.Errorf("it was not settled (%s), so it comes again: %w", settlement.Outcome, err))
	case status == StatusStale:
		d.run.options.OnError(d.message, fmt.Errorf("%w: it was settled too late (%s)", ErrLeaseLost, settlement.Outcome))
	}
}

// keepLease renews the lease while the handler runs. If the worker leaves the handler, it gives the message back.
func (d *delivery) keepLease(received time.Time) {
	defer d.run.keepers.Done()
	lease := d.run.options.Lease
	leaseEnd, renewAt := received.Add(d.message.Lease), received.Add(d.message.Lease/d.run.renewals)
	why := "it was not renewed in time"
	timeoutAt := d.timeoutAt(received)
	for {
		if sleep(d.keeping, time.Until(earlier(renewAt, timeoutAt))) != nil {
			if d.decide() {
				d.releaseAtTheEnd()
			}
			return
		}
		if !time.Now().Before(leaseEnd) {
			d.lose(why)
			return
		}
		if !timeoutAt.IsZero() && !time.Now().Before(timeoutAt) {
			d.timeOut()
			return
		}
		sent := time.Now()
		status, err := d.renew(leaseEnd)
		switch {
		case err != nil:
			why = "it was not renewed: " + err.Error()
			renewAt = time.Now().Add(lease / d.run.renewals / 10)
			if renewAt.After(leaseEnd) {
				renewAt = leaseEnd
			}
			continue
		case status == StatusStale:
			d.lose("it has ended, or the message was settled")
			return
		case status == StatusCancelled && d.handling.Err() == nil:
			// The lease is kept: the handler may need a while to end, and nothing else may run meanwhile.
			d.stop()
			d.run.options.OnError(d.message, ErrMessageCancelled)
		}
		leaseEnd, renewAt = sent.Add(lease), sent.Add(lease/d.run.renewals)
	}
}

// timeoutAt is when a handler has been told that its time is over, and has had a while to end; zero: never.
func (d *delivery) timeoutAt(received time.Time) time.Time {
	if d.run.options.Timeout == 0 {
		return time.Time{}
	}
	return received.Add(d.run.options.Timeout + d.run.interruptFor)
}

func earlier(a, b time.Time) time.Time {
	if b.IsZero() || a.Before(b) {
		return a
	}
	return b
}

// timeOut gives the attempt up of a handler that does not heed its context. What it still does is of no meaning.
func (d *delivery) timeOut() {
	if d.decide() {
		err := &timeoutError{d.run.options.Timeout, errors.New("it goes on in spite of its context")}
		d.run.options.OnError(d.message, err)
		d.settle(Settlement{Outcome: Retry, Error: toHandlerError(err)})
	}
}

// renew tries once, for half of what is left of the lease, so that another try fits.
func (d *delivery) renew(leaseEnd time.Time) (Status, error) {
	ctx, cancel := context.WithTimeout(d.keeping, time.Until(leaseEnd)/2)
	defer cancel()
	return d.run.renewer.ask(ctx, Extension{Receipt: d.message.Receipt, Lease: d.run.options.Lease})
}

// lose stops the handler: the message may be delivered elsewhere.
func (d *delivery) lose(why string) {
	if d.decide() {
		d.stop()
		d.run.options.OnError(d.message, fmt.Errorf("%w: %s", ErrLeaseLost, why))
	}
}
