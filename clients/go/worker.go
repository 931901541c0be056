package delayqueue

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"
)

// The gateway takes no longer name of who receives.
const maxConsumer = 128

// Handler handles one message. nil: it is acknowledged. An error: it comes again by its backoff, or becomes a dead letter after its last
// attempt; with [RetryLater] and [Unrecoverable] the error says otherwise. The context is done when the message does not belong to the worker
// any more or was cancelled, when Timeout is over, and when the worker ends and waits no longer. A handler does not settle its message itself.
type Handler func(ctx context.Context, message *Message) error

// WorkerOptions say what a [Worker] receives, and how.
type WorkerOptions struct {
	// Topics to receive from. As long as an earlier one has messages that are due, a later one waits.
	Topics []string
	// Concurrency is the most handlers at once. Default: 10.
	Concurrency int
	// Lease is for how long a message belongs to the worker if the worker is killed, at least 1 s. It is renewed after each third of it while the
	// handler runs, so it does not limit handlers. Default: 30 s.
	Lease time.Duration
	// Wait is how long one request waits for messages, 100 ms to 60 s. Where a proxy does not tell the gateway that a stopped worker waits no more,
	// what falls due meanwhile comes after its lease. Default: 5 s, also if it is 0: a worker always waits.
	Wait time.Duration
	// Timeout is the longest run of a handler. Then its context is done, and the attempt has failed: if the handler has not ended a second later,
	// it keeps its place among those that run, but what it does is of no meaning any more. Default: none.
	Timeout time.Duration
	// ShutdownTimeout is how long handlers may take to end when the worker is stopped. Negative: none. Default: 10 s.
	ShutdownTimeout time.Duration
	// Consumer names this worker for those who look at the fleet, 1 to 128 characters. Default: the name of the host.
	Consumer string
	// OnError is told what went wrong, by several goroutines at once: a handler's error, a lost lease, a gateway that is away, which it is told
	// once and not at each try. The message is nil if it is not about one. Default: a line with the standard logger.
	OnError func(message *Message, err error)
}

// What [WorkerOptions.OnError] and [Worker.Run] tell, for [errors.Is].
var (
	// ErrLeaseLost: the message does not belong to the worker any more, and may be delivered elsewhere. The handler's context is done.
	ErrLeaseLost = errors.New("delayqueue: the lease of the message is lost")
	// ErrMessageCancelled: the message was cancelled while its handler runs. The handler's context is done; no attempt follows.
	ErrMessageCancelled = errors.New("delayqueue: the message was cancelled")
	// ErrHandlersLeft: when the worker ended, some handlers went on in spite of their context. Their messages were released.
	ErrHandlersLeft = errors.New("delayqueue: handlers were still running when the worker ended")
)

// RetryLater is an error of a handler that cannot do its work now: the message comes again after the delay, and no attempt is spent, however
// often this happens. Wrap it to say why:
//
//	fmt.Errorf("the bank is closed: %w", delayqueue.RetryLater(time.Hour))
func RetryLater(delay time.Duration) error { return &retryLater{delay} }

// Unrecoverable is an error of a handler: the message becomes a dead letter at once, with the reason.
func Unrecoverable(reason string) error { return &unrecoverable{reason} }

type retryLater struct{ delay time.Duration }

func (e *retryLater) Error() string { return fmt.Sprintf("to be tried again in %v", e.delay) }

type unrecoverable struct{ reason string }

func (e *unrecoverable) Error() string { return e.reason }

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
	options.Topics = append([]string(nil), options.Topics...)
	setDefault(&options.Concurrency, 10)
	setDefault(&options.Lease, 30*time.Second)
	setDefault(&options.Wait, 5*time.Second)
	setDefault(&options.ShutdownTimeout, 10*time.Second)
	setDefault(&options.Consumer, hostName())
	if options.OnError == nil {
		options.OnError = logError
	}
	switch {
	case client == nil || handler == nil:
		return nil, invalid("a worker needs a client and a handler")
	case len(options.Topics) == 0:
		return nil, invalid("Topics must name at least one topic")
	case options.Concurrency < 0:
		return nil, invalid("Concurrency must be at least 1. Given: %d", options.Concurrency)
	case options.Lease < time.Second:
		return nil, invalid("Lease must be at least 1s. Given: %v", options.Lease)
	case options.Wait < 100*time.Millisecond || options.Wait > time.Minute:
		return nil, invalid("Wait must be 100ms to 1m, or 0 for the default; a shorter one would ask all the time. Given: %v", options.Wait)
	case options.Timeout < 0:
		return nil, invalid("Timeout must not be negative. Given: %v", options.Timeout)
	}
	return &Worker{client: client, handler: handler, options: options}, nil
}

// settleFor is how long a settle is repeated: as long as a lease lasts, since then the message comes again.
func (o WorkerOptions) settleFor() time.Duration {
	if o.Lease > maxRetryFor {
		return maxRetryFor
	}
	return o.Lease
}

// hostName is empty if the system knows none: then the gateway names the worker.
func hostName() string {
	name, _ := os.Hostname()
	if len(name) > maxConsumer {
		return name[:maxConsumer]
	}
	return name
}

func setDefault[T comparable](option *T, value T) {
	if *option == *new(T) {
		*option = value
	}
}

func logError(message *Message, err error) {
	if message == nil {
		log.Printf("worker: %v", err)
		return
	}
	log.Printf("message %q of topic %s, attempt %d: %v", message.ID, message.Topic, message.Attempt, err)
}

// Run works until ctx is done. Then it takes no more messages, waits for the handlers that run, settles what they did, and returns nil. If
// handlers take longer than ShutdownTimeout, their contexts are done; whatever still runs a second later is left, its message is released, and
// Run returns [ErrHandlersLeft].
//
// While the gateway or its Redis is away, Run goes on trying. It returns earlier only if the gateway refuses to be asked, since trying again
// would change nothing: [ErrInvalidArgument], [ErrUnauthorized], [ErrForbidden], [ErrTopicNotServed], [ErrUntrustedCertificate] … It may be
// called again.
func (w *Worker) Run(ctx context.Context) error {
	return newWorkerRun(w, ctx).run()
}
