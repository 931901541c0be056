package delayqueue

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"
)

// Handler handles one message. nil: it is acknowledged. An error: it comes again by its backoff, or becomes a dead letter after its last
// attempt; with [RetryLater] and [GiveUp] the error says otherwise. The context is done when the message does not belong to the worker any
// more, or when the worker ends and waits no longer.
type Handler func(ctx context.Context, message *Message) error

// WorkerOptions say what a [Worker] receives, and how.
type WorkerOptions struct {
	// Topics to receive from. As long as an earlier one has messages that are due, a later one waits.
	Topics []string
	// Concurrency is the most handlers at once, 1 to 1,000. Default: 10.
	Concurrency int
	// Lease is for how long a message belongs to the worker if the worker is killed, at least 1 s. It is renewed at a third of that while the
	// handler runs, so it does not limit handlers. Default: 30 s.
	Lease time.Duration
	// Wait is how long one request waits for messages. Default: 20 s.
	Wait time.Duration
	// ShutdownTimeout is how long running handlers may take to end when the worker does. Default: 10 s.
	ShutdownTimeout time.Duration
	// OnError is told what went wrong, by several goroutines at once: a handler's error, a lost lease, a gateway that is away. The message is
	// nil if it is not about one. Default: a line with the standard logger.
	OnError func(message *Message, err error)
}

const (
	defaultConcurrency     = 10
	maxConcurrency         = 1000
	defaultLease           = 30 * time.Second
	minLease               = time.Second
	defaultWait            = 20 * time.Second
	defaultShutdownTimeout = 10 * time.Second
)

// What [WorkerOptions.OnError] and [Worker.Run] tell, for [errors.Is].
var (
	// ErrLeaseLost: the message does not belong to the worker any more, and may be delivered elsewhere. The handler's context is done.
	ErrLeaseLost = errors.New("delayqueue: the lease of the message is lost")
	// ErrMessageCancelled: the message was cancelled while its handler runs. The handler's context is done; no attempt follows.
	ErrMessageCancelled = errors.New("delayqueue: the message was cancelled")
	// ErrHandlersLeft: when the worker ended, some handlers went on in spite of their context. Their messages were released.
	ErrHandlersLeft = errors.New("delayqueue: handlers were still running when the worker ended")
)

// RetryLater is an error of a handler: the message comes again after the delay, not by its backoff. Wrap it to say why:
//
//	fmt.Errorf("the bank is closed: %w", delayqueue.RetryLater(time.Hour))
func RetryLater(delay time.Duration) error {
	return &retryLater{delay: delay}
}

// GiveUp is an error of a handler: the message becomes a dead letter at once, with the reason.
func GiveUp(reason string) error {
	return &giveUp{reason: reason}
}

type retryLater struct{ delay time.Duration }

func (e *retryLater) Error() string { return fmt.Sprintf("to be tried again in %v", e.delay) }

type giveUp struct{ reason string }

func (e *giveUp) Error() string { return e.reason }

// PanicError is what [WorkerOptions.OnError] is told of a handler that panicked. The message comes again as after any other error.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("the handler panicked: %v", e.Value) }

// Worker receives messages for a handler, and settles what became of them.
type Worker struct {
	client  *Client
	handler Handler
	options WorkerOptions
}

// NewWorker makes a worker, which begins with [Worker.Run]. The error says what is wrong with the options.
func NewWorker(client *Client, handler Handler, options WorkerOptions) (*Worker, error) {
	options = withDefaults(options)
	switch {
	case client == nil || handler == nil:
		return nil, fmt.Errorf("%w: a worker needs a client and a handler", ErrInvalidArgument)
	case len(options.Topics) == 0:
		return nil, fmt.Errorf("%w: Topics must name at least one topic", ErrInvalidArgument)
	case options.Concurrency < 1 || options.Concurrency > maxConcurrency:
		return nil, fmt.Errorf("%w: Concurrency must be from 1 to %d. Given: %d", ErrInvalidArgument, maxConcurrency, options.Concurrency)
	case options.Lease < minLease:
		return nil, fmt.Errorf("%w: Lease must be at least %v. Given: %v", ErrInvalidArgument, minLease, options.Lease)
	case options.Wait < 0 || options.ShutdownTimeout < 0:
		return nil, fmt.Errorf("%w: Wait and ShutdownTimeout must not be negative", ErrInvalidArgument)
	}
	return &Worker{client: client, handler: handler, options: options}, nil
}

func withDefaults(options WorkerOptions) WorkerOptions {
	options.Topics = append([]string(nil), options.Topics...)
	if options.Concurrency == 0 {
		options.Concurrency = defaultConcurrency
	}
	if options.Lease == 0 {
		options.Lease = defaultLease
	}
	if options.Wait == 0 {
		options.Wait = defaultWait
	}
	if options.ShutdownTimeout == 0 {
		options.ShutdownTimeout = defaultShutdownTimeout
	}
	if options.OnError == nil {
		options.OnError = logError
	}
	return options
}

func logError(message *Message, err error) {
	if message == nil {
		log.Printf("delayqueue: worker: %v", err)
		return
	}
	log.Printf("delayqueue: message %q of topic %s, attempt %d: %v", message.ID, message.Topic, message.Attempt, err)
}

// Run works until ctx is done. Then it takes no more messages, waits for the handlers that run, settles what they did, and returns nil. If
// handlers take longer than ShutdownTimeout, their contexts are done; whatever still runs a second later is left, its message is released, and
// Run returns [ErrHandlersLeft].
//
// While the gateway or its Redis is away, Run goes on trying. It returns earlier only if the gateway refuses to be asked, since trying again
// would change nothing: [ErrInvalidArgument], [ErrUnauthorized], [ErrForbidden], [ErrTopicNotServed]. It may be called again.
func (w *Worker) Run(ctx context.Context) error {
	return newWorkerRun(w, ctx).run()
}
