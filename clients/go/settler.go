package delayqueue

import (
	"context"
	"errors"
)

// settler tells the gateway what handlers did: at once, and several together if they ended while it was being told of others.
type settler struct {
	client *Client
	// done is done when nothing is to be settled any more.
	done    context.Context
	waiting chan settling
}

type settling struct {
	settlement Settlement
	settled    chan settled
}

type settled struct {
	status Status
	err    error
}

// The gateway takes no more at once.
const maxSettled = 1000

func newSettler(done context.Context, client *Client) *settler {
	return &settler{client: client, done: done, waiting: make(chan settling, maxSettled)}
}

// settle returns once it is settled, or cannot be.
func (s *settler) settle(settlement Settlement) (Status, error) {
	one := settling{settlement, make(chan settled, 1)}
	select {
	case s.waiting <- one:
	case <-s.done.Done():
		return "", s.done.Err()
	}
	select {
	case told := <-one.settled:
		return told.status, told.err
	case <-s.done.Done():
		return "", s.done.Err()
	}
}

// run settles what waits, for as long as a lease lasts: then the messages come again.
func (s *settler) run(options WorkerOptions) {
	for {
		select {
		case first := <-s.waiting:
			s.settleTogether(s.withMore(first), options)
		case <-s.done.Done():
			return
		}
	}
}

func (s *settler) withMore(first settling) []settling {
	batch := []settling{first}
	for len(batch) < maxSettled {
		select {
		case one := <-s.waiting:
			batch = append(batch, one)
		default:
			return batch
		}
	}
	return batch
}

func (s *settler) settleTogether(batch []settling, options WorkerOptions) {
	settlements := make([]Settlement, len(batch))
	for i, one := range batch {
		settlements[i] = one.settlement
	}
	results, err := s.client.settle(s.done, options.settleFor(), settlements...)
	var refused *Error
	if len(batch) > 1 && errors.As(err, &refused) && refused.isRefusal() && refused.Code != ErrUnauthorized {
		// One may be the reason, such as that its topic is not served any more: the others are settled without it.
		for _, one := range batch {
			s.settleTogether([]settling{one}, options)
		}
		return
	}
	for i, one := range batch {
		told := settled{err: err}
		if err == nil {
			told.status = results[i].Status
		}
		one.settled <- told
	}
}
