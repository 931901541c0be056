package delayqueue

import (
	"context"
	"errors"
	"time"
)

// The gateway takes no more at once.
const maxTogether = 1000

// gatherer asks the gateway for what goroutines want: at once, and for several together if they came while it was asking for others.
type gatherer[T any] struct {
	// done is done when nothing is to be asked for any more.
	done    context.Context
	send    func(ctx context.Context, items []T) ([]Result, error)
	waiting chan wanted[T]
}

type wanted[T any] struct {
	// ctx is done when nobody waits for it any more.
	ctx    context.Context
	item   T
	answer chan answered
}

type answered struct {
	status Status
	err    error
}

func newGatherer[T any](done context.Context, send func(ctx context.Context, items []T) ([]Result, error)) *gatherer[T] {
	return &gatherer[T]{done: done, send: send, waiting: make(chan wanted[T], maxTogether)}
}

// ask returns once it is answered, or ctx is done.
func (g *gatherer[T]) ask(ctx context.Context, item T) (Status, error) {
	one := wanted[T]{ctx, item, make(chan answered, 1)}
	select {
	case g.waiting <- one:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	select {
	case told := <-one.answer:
		return told.status, told.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (g *gatherer[T]) run() {
	for {
		select {
		case first := <-g.waiting:
			if batch := g.gather(first); len(batch) > 0 {
				g.askTogether(batch)
			}
		case <-g.done.Done():
			return
		}
	}
}

// gather takes what waits beside the first, without those for whom nobody waits any more.
func (g *gatherer[T]) gather(one wanted[T]) (batch []wanted[T]) {
	for {
		if one.ctx.Err() == nil {
			batch = append(batch, one)
		}
		if len(batch) == maxTogether {
			return batch
		}
		select {
		case one = <-g.waiting:
		default:
			return batch
		}
	}
}

func (g *gatherer[T]) askTogether(batch []wanted[T]) {
	items := make([]T, len(batch))
	var end time.Time
	for i, one := range batch {
		items[i] = one.item
		if at, ok := one.ctx.Deadline(); ok {
			end = earlier(at, end)
		}
	}
	ctx := g.done
	if !end.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(g.done, end)
		defer cancel()
	}
	results, err := g.send(ctx, items)
	var refused *Error
	if len(batch) > 1 && errors.As(err, &refused) && refused.isRefusal() && refused.Code != ErrUnauthorized {
		// One may be the reason, such as that its topic is not served any more: the others are asked for without it.
		for _, one := range batch {
			g.askTogether([]wanted[T]{one})
		}
		return
	}
	for i, one := range batch {
		told := answered{err: err}
		if err == nil {
			told.status = results[i].Status
		}
		one.answer <- told
	}
}
