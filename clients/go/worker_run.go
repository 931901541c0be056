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
	client  *Client
	handler Handler
	options WorkerOptions
	// ctx ends the intake; handlers and what settles their messages go on.
	ctx context.Context
	// settling ends when nobody waits for handlers any more.
	settling     context.Context
	stopSettling context.CancelFunc
	// slots holds one for each handler that runs, or may be received.
	slots    chan struct{}
	handlers sync.WaitGroup

	mutex   sync.Mutex
	running map[*delivery]struct{}
}

func newWorkerRun(worker *Worker, ctx context.Context) *workerRun {
	settling, stopSettling := context.WithCancel(detached{ctx})
	return &workerRun{
		client:       worker.client,
		handler:      worker.handler,
		options:      worker.options,
		ctx:          ctx,
		settling:     settling,
		stopSettling: stopSettling,
		slots:        make(chan struct{}, worker.options.Concurrency),
		running:      map[*delivery]struct{}{},
	}
}

func (r *workerRun) run() error {
	defer r.stopSettling()
	renewing, stopRenewing := context.WithCancel(detached{r.ctx})
	var renewer sync.WaitGroup
	renewer.Add(1)
	go func() {
		defer renewer.Done()
		r.renewLeases(renewing)
	}()
	refused := r.takeIn()
	left := r.drain()
	stopRenewing()
	renewer.Wait()
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
		messages, err := r.receive(room)
		for i := len(messages); i < room; i++ {
			<-r.slots
		}
		for _, message := range messages {
			r.begin(message)
		}
		if r.ctx.Err() != nil {
			return nil
		}
		if err == nil {
			failures = 0
			continue
		}
		if isRefusal(err) {
			return err
		}
		r.options.OnError(nil, err)
		if sleep(r.ctx, pauseBeforeReceiving(err, failures)) != nil {
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

// receive asks once: the loop around it is what tries again, and tells of it.
func (r *workerRun) receive(room int) ([]*Message, error) {
	options := &ReceiveOptions{Max: room, Wait: r.options.Wait, Lease: r.options.Lease}
	given := call{path: []string{"v1", "receive"}, retryFor: -1}
	topics := r.options.Topics
	if len(topics) == 1 {
		given.path, topics = []string{"v1", "topics", topics[0], "receive"}, nil
	}
	return r.client.receive(r.ctx, given, topics, options)
}

func isRefusal(err error) bool {
	for _, refusal := range []error{ErrInvalidArgument, ErrUnauthorized, ErrForbidden, ErrTopicNotServed} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return false
}

func pauseBeforeReceiving(err error, failures int) time.Duration {
	var failure *Error
	if errors.As(err, &failure) {
		return pauseAfter(failure, failures)
	}
	return longestPause
}

func (r *workerRun) begin(message *Message) {
	one := newDelivery(r, message)
	r.mutex.Lock()
	r.running[one] = struct{}{}
	r.mutex.Unlock()
	r.handlers.Add(1)
	go func() {
		defer r.handlers.Done()
		defer func() { <-r.slots }()
		defer r.end(one)
		one.handle()
	}()
}

func (r *workerRun) end(one *delivery) {
	r.mutex.Lock()
	delete(r.running, one)
	r.mutex.Unlock()
}

func (r *workerRun) deliveries() []*delivery {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	all := make([]*delivery, 0, len(r.running))
	for one := range r.running {
		all = append(all, one)
	}
	return all
}

// renewLeases renews all leases with one request, three times a lease.
func (r *workerRun) renewLeases(ctx context.Context) {
	period := r.options.Lease / 3
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			r.renewOnce(ctx, period)
		}
	}
}

func (r *workerRun) renewOnce(ctx context.Context, longest time.Duration) {
	leased := map[string]*delivery{}
	var extensions []Extension
	for _, one := range r.deliveries() {
		if one.isLeased() && !one.isGone() {
			leased[one.message.Receipt] = one
			extensions = append(extensions, Extension{Receipt: one.message.Receipt, Lease: r.options.Lease})
		}
	}
	if len(extensions) == 0 {
		return
	}
	trying, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	asked := time.Now()
	results, err := r.client.Extend(trying, extensions...)
	if err != nil && ctx.Err() == nil {
		// Another try follows at the next tick, and a lease that ends meanwhile is found by its timer.
		r.options.OnError(nil, fmt.Errorf("leases were not renewed: %w", err))
	}
	for _, result := range results {
		if one := leased[result.Receipt]; one != nil {
			one.renewed(result.Status, asked.Add(r.options.Lease))
		}
	}
}

// drain waits for the handlers, and gives back what those have that do not end.
func (r *workerRun) drain() error {
	ended := make(chan struct{})
	go func() {
		r.handlers.Wait()
		close(ended)
	}()
	if isClosedWithin(ended, r.options.ShutdownTimeout) {
		return nil
	}
	for _, one := range r.deliveries() {
		one.interrupt()
	}
	if isClosedWithin(ended, interruptTimeout) {
		return nil
	}
	r.stopSettling()
	return r.releaseRest()
}

func isClosedWithin(closed <-chan struct{}, longest time.Duration) bool {
	timer := time.NewTimer(longest)
	defer timer.Stop()
	select {
	case <-closed:
		return true
	case <-timer.C:
		return false
	}
}

func (r *workerRun) releaseRest() error {
	var settlements []Settlement
	for _, one := range r.deliveries() {
		if one.isLeased() && one.leave() {
			settlements = append(settlements, Settlement{Receipt: one.message.Receipt, Outcome: Release})
		}
	}
	if len(settlements) == 0 {
		return ErrHandlersLeft
	}
	ctx, cancel := context.WithTimeout(detached{r.ctx}, releaseTimeout)
	defer cancel()
	if _, err := r.client.Settle(ctx, settlements...); err != nil {
		return fmt.Errorf("%w, and their messages could not be released, so they come again when their leases end: %v", ErrHandlersLeft, err)
	}
	return fmt.Errorf("%w: %d", ErrHandlersLeft, len(settlements))
}

// detached has the values of a context and not its end.
type detached struct{ context.Context }

func (detached) Deadline() (time.Time, bool) { return time.Time{}, false }
func (detached) Done() <-chan struct{}       { return nil }
func (detached) Err() error                  { return nil }
