package delayqueue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// The gateway gives no more at once.
	maxReceived = 200
	// How long handlers have to end once their contexts are done.
	interruptTimeout = time.Second
	// Releasing what is left must not keep a process from ending.
	releaseTimeout = 3 * time.Second
)

// workerRun is one call of [Worker.Run].
type workerRun struct {
	*Worker
	// ctx ends the intake; handlers and what settles their messages go on.
	ctx context.Context
	// handling is done when handlers are to end that have not in time.
	handling  context.Context
	interrupt context.CancelFunc
	// holding is done when the worker lets go of the messages of handlers that have not ended even then.
	holding context.Context
	leave   context.CancelFunc
	// slots holds one for each handler that runs, or may be received.
	slots chan struct{}
	// settler tells what handlers did; renewer extends leases.
	settler *gatherer[Settlement]
	renewer *gatherer[Extension]
	// keepers are those who keep leases.
	keepers sync.WaitGroup
	// renewals are how often a lease is renewed within its length.
	renewals time.Duration
	// interruptFor is how long handlers have to end once their contexts are done.
	interruptFor time.Duration
}

func newWorkerRun(worker *Worker, ctx context.Context) *workerRun {
	run := &workerRun{
		Worker:       worker,
		ctx:          ctx,
		slots:        make(chan struct{}, worker.options.Concurrency),
		renewals:     3,
		interruptFor: interruptTimeout,
	}
	run.handling, run.interrupt = context.WithCancel(detached{ctx})
	run.holding, run.leave = context.WithCancel(detached{ctx})
	run.settler = newGatherer(run.holding, func(ctx context.Context, settlements []Settlement) ([]Result, error) {
		return worker.client.settle(ctx, worker.options.settleFor(), settlements...)
	})
	run.renewer = newGatherer(run.holding, func(ctx context.Context, extensions []Extension) ([]Result, error) {
		// It asks once: whoever keeps the lease tries again.
		return worker.client.extend(ctx, -1, extensions...)
	})
	return run
}

func (r *workerRun) run() error {
	defer r.interrupt()
	defer r.leave()
	go r.settler.run()
	go r.renewer.run()
	refused := r.takeIn()
	left := r.drain()
	r.keepers.Wait()
	if refused != nil {
		return refused
	}
	return left
}

// takeIn receives until the context is done, or the gateway refuses for good.
func (r *workerRun) takeIn() error {
	failures := 0
	for {
		room := r.takeSlots()
		if room == 0 {
			return nil
		}
		// It asks once: this loop is what tries again, and tells of it.
		options := ReceiveOptions{Max: room, Wait: r.options.Wait, Lease: r.options.Lease, Consumer: r.options.Consumer}
		messages, unreadable, err := r.client.receive(r.ctx, -1, options, r.options.Topics)
		for _, message := range unreadable {
			r.options.OnError(message, errors.New(tooDeep))
		}
		for _, message := range messages {
			r.begin(message)
		}
		for i := len(messages); i < room; i++ {
			<-r.slots
		}
		if r.ctx.Err() != nil {
			return nil
		}
		if err == nil {
			failures = 0
			continue
		}
		var failure *Error
		if !errors.As(err, &failure) || failure.isRefusal() {
			return err
		}
		if failures == 0 {
			r.options.OnError(nil, err)
		}
		if sleep(r.ctx, pauseAfter(failure, failures)) != nil {
			return nil
		}
		failures++
	}
}

// takeSlots waits for one, and takes what others are free too. None: the worker ends.
func (r *workerRun) takeSlots() int {
	select {
	case <-r.ctx.Done():
		return 0
	case r.slots <- struct{}{}:
	}
	taken := 1
	for taken < maxReceived {
		select {
		case r.slots <- struct{}{}:
			taken++
		default:
			return taken
		}
	}
	return taken
}

// drain waits for the handlers: a slot that can be taken has none. Those that take too long are told to end, and then left.
func (r *workerRun) drain() error {
	free := 0
	for _, step := range []struct {
		longest time.Duration
		then    func()
	}{{r.options.ShutdownTimeout, r.interrupt}, {r.interruptFor, r.leave}} {
		timer := time.NewTimer(step.longest)
		defer timer.Stop()
		for over := false; !over; {
			if free == cap(r.slots) {
				return nil
			}
			select {
			case r.slots <- struct{}{}:
				free++
			case <-timer.C:
				over = true
			}
		}
		step.then()
	}
	return fmt.Errorf("%w: %d", ErrHandlersLeft, cap(r.slots)-free)
}

// detached has the values of a context and not its end.
type detached struct{ context.Context }

func (detached) Deadline() (time.Time, bool) { return time.Time{}, false }
func (detached) Done() <-chan struct{}       { return nil }
func (detached) Err() error                  { return nil }
