package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	delayqueue "nestjs-delay-queue/clients/go"
)

// runningWorker is a worker, and what its handler saw.
type runningWorker struct {
	stop  context.CancelFunc
	ended chan error

	mutex   sync.Mutex
	running int
	most    int
	// attempts by message, in the order in which they began.
	attempts map[string][]int
	errors   []error
}

// work starts a worker whose handler runs for as long as it is told, and fails at its first attempt if it is told so.
func (t *trial) work(client *delayqueue.Client, options delayqueue.WorkerOptions, handle delayqueue.Handler) *runningWorker {
	w := &runningWorker{ended: make(chan error, 1), attempts: map[string][]int{}}
	options.Topics = []string{t.topic}
	options.OnError = func(_ *delayqueue.Message, err error) {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		w.errors = append(w.errors, err)
	}
	worker := must(delayqueue.NewWorker(client, w.watched(handle), options))
	ctx, stop := context.WithCancel(t.ctx)
	w.stop = stop
	go func() { w.ended <- worker.Run(ctx) }()
	return w
}

func (w *runningWorker) watched(handle delayqueue.Handler) delayqueue.Handler {
	return func(ctx context.Context, message *delayqueue.Message) error {
		w.mutex.Lock()
		w.attempts[message.ID] = append(w.attempts[message.ID], message.Attempt)
		w.running++
		if w.running > w.most {
			w.most = w.running
		}
		w.mutex.Unlock()
		defer func() {
			w.mutex.Lock()
			w.running--
			w.mutex.Unlock()
		}()
		return handle(ctx, message)
	}
}

// attemptsOf is, for example, "[1 2]".
func (w *runningWorker) attemptsOf(id string) string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return fmt.Sprint(w.attempts[id])
}

// mostAtOnce is how many handlers have run at the same time.
func (w *runningWorker) mostAtOnce() int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.most
}

func (w *runningWorker) wasTold(target error) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, err := range w.errors {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

func (w *runningWorker) stopped() {
	w.stop()
	must(0, <-w.ended)
}

func pause(ctx context.Context, length time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(length):
		return nil
	}
}

func (t *trial) isGone(id string) bool {
	_, err := t.client.Get(t.ctx, t.topic, id)
	return errors.Is(err, delayqueue.ErrMessageNotFound)
}

func workerConcurrency(t *trial) {
	var ids []string
	for i := 0; i < 9; i++ {
		options := delayqueue.PublishOptions{ID: t.id(fmt.Sprint(i)), Backoff: delayqueue.FixedBackoff(100 * time.Millisecond)}
		ids = append(ids, t.publish(i, options).ID)
	}
	var w *runningWorker
	begun := make(chan struct{})
	w = t.work(t.client, delayqueue.WorkerOptions{Concurrency: 3}, func(ctx context.Context, message *delayqueue.Message) error {
		<-begun
		// All places are taken, and one too many would be in this time.
		for wait := time.Duration(0); wait < 200*time.Millisecond || w.mostAtOnce() < 3; wait += 20 * time.Millisecond {
			if err := pause(ctx, 20*time.Millisecond); err != nil {
				return err
			}
		}
		switch {
		case message.ID == ids[4] && message.Attempt == 1:
			return errors.New("the first attempt fails")
		case message.ID == ids[5] && message.Attempt == 1:
			panic("the first attempt panics")
		default:
			return nil
		}
	})
	defer w.stop()
	close(begun)
	for i, id := range ids {
		eventually("message "+id+" is acknowledged", func() bool { return t.isGone(id) })
		expected := "[1]"
		if i == 4 || i == 5 {
			expected = "[1 2]"
		}
		same("the attempts of message "+id, w.attemptsOf(id), expected)
	}
	w.stopped()
	same("the most at once", w.mostAtOnce(), 3)
}

// Twice this long a handler takes, and a renewal has two thirds of it for its way.
const renewedLease = 5 * time.Second

func workerRenewsLeases(t *trial) {
	id := t.publish(1, delayqueue.PublishOptions{}).ID
	w := t.work(t.client, delayqueue.WorkerOptions{Lease: renewedLease}, func(ctx context.Context, _ *delayqueue.Message) error {
		return pause(ctx, 2*renewedLease+time.Second)
	})
	defer w.stop()
	eventually("the message is acknowledged", func() bool { return t.isGone(id) })
	same("the attempts", w.attemptsOf(id), "[1]")
	w.stopped()
	expect(!w.wasTold(delayqueue.ErrLeaseLost), "the lease was lost")
}

func workerStops(t *trial) {
	var ids []string
	for i := 0; i < 3; i++ {
		ids = append(ids, t.publish(i, delayqueue.PublishOptions{}).ID)
	}
	begun := make(chan string, 3)
	w := t.work(t.client, delayqueue.WorkerOptions{Concurrency: 1}, func(ctx context.Context, message *delayqueue.Message) error {
		begun <- message.ID
		return pause(ctx, time.Second)
	})
	defer w.stop()
	var handled string
	select {
	case handled = <-begun:
	case <-t.ctx.Done():
		fail("nothing was handled")
	}
	w.stopped()
	same("the attempts of the one that ran", w.attemptsOf(handled), "[1]")
	t.gone(handled)
	for _, id := range ids {
		if id == handled {
			continue
		}
		same("how often another one was handled", w.attemptsOf(id), "[]")
		message := t.next(lease)
		same("the attempt of another one", message.Attempt, 1)
		t.ack(message)
	}
}

func workerGoesOn(t *trial) {
	broken := t.connect(t.given.brokenURL, t.given.token)
	w := t.work(broken, delayqueue.WorkerOptions{Lease: 3 * time.Second, Wait: time.Second}, func(ctx context.Context, _ *delayqueue.Message) error {
		return pause(ctx, 50*time.Millisecond)
	})
	defer w.stop()
	var ids []string
	for began := time.Now(); time.Since(began) < 9*time.Second; {
		ids = append(ids, t.publish(1, delayqueue.PublishOptions{}).ID)
		must(0, pause(t.ctx, 300*time.Millisecond))
	}
	for _, id := range ids {
		eventually("message "+id+" is acknowledged", func() bool { return t.isGone(id) })
	}
	expect(w.wasTold(delayqueue.ErrGatewayUnreachable), "the gateway was never away for it")
	w.stopped()
}
