package delayqueue

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// startedWorker is a worker that runs until its test ends.
type startedWorker struct {
	stop  context.CancelFunc
	ended chan error

	mutex  sync.Mutex
	errors []error
}

// startWorker starts one whose run is changed before, so that little of a test hangs on how fast the machine is.
func startWorker(t *testing.T, queue *fakeQueue, handler Handler, options WorkerOptions, change ...func(*workerRun)) *startedWorker {
	t.Helper()
	started := &startedWorker{ended: make(chan error, 1)}
	options.Topics = []string{"t"}
	options.OnError = func(_ *Message, err error) {
		started.mutex.Lock()
		defer started.mutex.Unlock()
		started.errors = append(started.errors, err)
	}
	worker, err := NewWorker(newTestClient(t, queue.URL, Options{}), handler, options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	started.stop = stop
	run := newWorkerRun(worker, ctx)
	for _, one := range change {
		one(run)
	}
	go func() { started.ended <- run.run() }()
	t.Cleanup(stop)
	return started
}

// renewsOften has leases renewed long before they end: one of a minute, every 0.1 s.
func renewsOften(run *workerRun) { run.renewals = 600 }

// waitFor is a handler's way to wait for something, or for its context.
func waitFor(ctx context.Context, is func() bool) error {
	for !is() {
		if err := sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func (s *startedWorker) stopped(t *testing.T) error {
	t.Helper()
	s.stop()
	return s.end(t)
}

func (s *startedWorker) end(t *testing.T) error {
	t.Helper()
	select {
	case err := <-s.ended:
		return err
	case <-time.After(patience):
		t.Fatalf("the worker has not ended within %v", patience)
		return nil
	}
}

// told is how often it was told of an error.
func (s *startedWorker) told(target error) int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	times := 0
	for _, err := range s.errors {
		if errors.Is(err, target) {
			times++
		}
	}
	return times
}

func settledAs(queue *fakeQueue, id, outcome string) func() bool {
	return func() bool { return reflect.DeepEqual(queue.outcomes(id), []string{outcome}) }
}

// refusing answers one route, or "" for all, with a problem.
func refusing(route string, code Code, status int) func(http.ResponseWriter, fakeRequest) bool {
	return func(w http.ResponseWriter, request fakeRequest) bool {
		if route != "" && request.uri != route {
			return false
		}
		respond(w, status, problemBody(code, status))
		return true
	}
}

func TestWhatAHandlerReturnsIsSettled(t *testing.T) {
	t.Parallel()
	failure := errors.New("no answer")
	outcomes := map[string]func() error{
		"ack":                                   func() error { return nil },
		"retry no answer":                       func() error { return failure },
		"release 60000":                         func() error { return fmt.Errorf("closed: %w", RetryLater(time.Minute)) },
		"dead no such order":                    func() error { return Unrecoverable("no such order") },
		"dead order 7: no such order":           func() error { return fmt.Errorf("order 7: %w", Unrecoverable("no such order")) },
		"retry the handler panicked: oh":        func() error { panic("oh") },
		"retry the handler ended its goroutine": func() error { runtime.Goexit(); return nil },
		"retry " + strings.Repeat("x", 4096):    func() error { return errors.New(strings.Repeat("x", 5000)) },
	}
	var ids, expected []string
	for outcome := range outcomes {
		ids = append(ids, fmt.Sprint(len(ids)))
		expected = append(expected, outcome)
	}
	queue := newFakeQueue(t, ids...)
	worker := startWorker(t, queue, func(_ context.Context, message *Message) error {
		var i int
		_, _ = fmt.Sscan(message.ID, &i)
		return outcomes[expected[i]]()
	}, WorkerOptions{Concurrency: 3})
	for i, id := range ids {
		eventually(t, expected[i], settledAs(queue, id, expected[i]))
	}
	if err := worker.stopped(t); err != nil {
		t.Fatal(err)
	}
	var panicked *PanicError
	for _, err := range worker.errors {
		if errors.As(err, &panicked) {
			break
		}
	}
	if worker.told(failure) != 1 || panicked == nil || !strings.Contains(string(panicked.Stack), "worker_test.go") {
		t.Fatalf("was told %v", worker.errors)
	}
}

func TestAsManyAsThereIsRoomFor(t *testing.T) {
	t.Parallel()
	ids := make([]string, 20)
	for i := range ids {
		ids[i] = fmt.Sprint(i)
	}
	queue := newFakeQueue(t, ids...)
	var running, most, calls atomic.Int32
	startWorker(t, queue, func(ctx context.Context, _ *Message) error {
		now := running.Add(1)
		for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
		}
		defer calls.Add(1)
		defer running.Add(-1)
		time.Sleep(20 * time.Millisecond) // One too many would be in this time.
		return waitFor(ctx, func() bool { return most.Load() >= 4 })
	}, WorkerOptions{Concurrency: 4})
	eventually(t, "all handled", func() bool { return calls.Load() == 20 })
	queue.mutex.Lock()
	defer queue.mutex.Unlock()
	if most.Load() != 4 || queue.asked[0] != 4 {
		t.Errorf("%d at once, asked for %d at first", most.Load(), queue.asked[0])
	}
}

func TestLeasesAreRenewedUntilTheHandlerEnds(t *testing.T) {
	t.Parallel()
	queue := newFakeQueue(t, "a", "b")
	worker := startWorker(t, queue, func(ctx context.Context, message *Message) error {
		return waitFor(ctx, func() bool { return queue.renewals(message.ID) >= 3 })
	}, WorkerOptions{Lease: patience}, renewsOften)
	eventually(t, "both handled", func() bool { return settledAs(queue, "a", "ack")() && settledAs(queue, "b", "ack")() })
	if err := worker.stopped(t); err != nil || worker.told(ErrLeaseLost) != 0 {
		t.Errorf("got %v, was told %v", err, worker.errors)
	}
}

func TestALostLeaseEndsTheHandlersContext(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status string
		refuse func(http.ResponseWriter, fakeRequest) bool
		lease  time.Duration
	}{
		"the gateway says so": {status: "stale", lease: patience},
		"Redis is away":       {refuse: refusing("/v1/extend", ErrBrokerUnavailable, 503), lease: time.Second},
		"the gateway fails":   {refuse: refusing("/v1/extend", ErrInternal, 500), lease: time.Second},
		"the connection hangs": {refuse: func(_ http.ResponseWriter, request fakeRequest) bool {
			if request.uri == "/v1/extend" {
				<-request.gone
			}
			return false
		}, lease: time.Second},
	} {
		test := test
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			queue := newFakeQueue(t, "a")
			queue.refuse, queue.extendStatus = test.refuse, test.status
			handled := make(chan error, 1)
			worker := startWorker(t, queue, func(ctx context.Context, _ *Message) error {
				handled <- sleep(ctx, patience)
				return ctx.Err()
			}, WorkerOptions{Lease: test.lease}, renewsOften)
			if err := <-handled; !errors.Is(err, context.Canceled) {
				t.Fatalf("the handler went on: %v", err)
			}
			if err := worker.stopped(t); err != nil || worker.told(ErrLeaseLost) != 1 || len(queue.outcomes("a")) != 0 {
				t.Fatalf("got %v, was told %v, settled %v", err, worker.errors, queue.outcomes("a"))
			}
		})
	}
}

func TestACancelledMessageEndsTheHandlersContext(t *testing.T) {
	t.Parallel()
	queue := newFakeQueue(t, "a")
	queue.extendStatus = "cancelled"
	worker := startWorker(t, queue, func(ctx context.Context, _ *Message) error {
		<-ctx.Done()
		// It keeps its lease until it has ended.
		renewals := queue.renewals("a")
		bounded, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := waitFor(bounded, func() bool { return queue.renewals("a") >= renewals+2 }); err != nil {
			return err
		}
		return ctx.Err()
	}, WorkerOptions{Lease: patience}, renewsOften)
	eventually(t, "settled, so that others of its key go on", settledAs(queue, "a", "retry context canceled"))
	if worker.told(ErrMessageCancelled) != 1 || worker.told(ErrLeaseLost) != 0 {
		t.Fatalf("was told %v", worker.errors)
	}
}

func TestAHandlerThatHeedsItsTimeoutIsTriedAgain(t *testing.T) {
	t.Parallel()
	queue := newFakeQueue(t, "a")
	startWorker(t, queue, func(ctx context.Context, _ *Message) error {
		<-ctx.Done()
		return ctx.Err()
	}, WorkerOptions{Timeout: 50 * time.Millisecond})
	why := "retry the handler did not finish within its timeout of 50ms: context deadline exceeded"
	eventually(t, "it is to be tried again", settledAs(queue, "a", why))
}

func TestAHandlerThatHangsSpendsAnAttempt(t *testing.T) {
	t.Parallel()
	queue := newFakeQueue(t, "a")
	end := make(chan struct{})
	defer close(end)
	worker := startWorker(t, queue, func(context.Context, *Message) error {
		<-end
		return nil
	}, WorkerOptions{Timeout: 50 * time.Millisecond, ShutdownTimeout: -1}, func(run *workerRun) { run.interruptFor = 1 })
	why := "retry the handler did not finish within its timeout of 50ms: it goes on in spite of its context"
	eventually(t, "it is to be tried again", settledAs(queue, "a", why))
	if err := worker.stopped(t); !errors.Is(err, ErrHandlersLeft) || len(queue.outcomes("a")) != 1 {
		t.Fatalf("got %v, settled %v", err, queue.outcomes("a"))
	}
}

// How a handler ends, or does not, after its worker was told to.
func TestAWorkerThatIsStopped(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		// options have a short time for what is not to be waited for.
		options WorkerOptions
		heeds   bool
		isLeft  bool
		outcome string
	}{
		"waits for handlers":                     {WorkerOptions{ShutdownTimeout: patience}, false, false, "ack"},
		"interrupts those that take too long":    {WorkerOptions{ShutdownTimeout: 1}, true, false, "release"},
		"leaves those that heed no interruption": {WorkerOptions{ShutdownTimeout: 1}, false, true, "release"},
	} {
		test := test
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			queue := newFakeQueue(t, "a", "b")
			test.options.Concurrency = 1
			begun, end := make(chan struct{}, 2), make(chan struct{})
			worker := startWorker(t, queue, func(ctx context.Context, _ *Message) error {
				begun <- struct{}{}
				if test.heeds {
					<-ctx.Done()
					return ctx.Err()
				}
				<-end
				return nil
			}, test.options, func(run *workerRun) {
				if run.interruptFor = patience; test.isLeft {
					run.interruptFor = 1
				}
			})
			<-begun
			worker.stop()
			if !test.heeds && !test.isLeft {
				// It would end in this time if it did not wait.
				time.Sleep(50 * time.Millisecond)
				close(end)
			}
			if err := worker.end(t); errors.Is(err, ErrHandlersLeft) != test.isLeft || (err != nil) != test.isLeft {
				t.Fatalf("got %v", err)
			}
			if test.isLeft {
				close(end)
				// An ack of the handler that was left would come in this time.
				time.Sleep(50 * time.Millisecond)
			}
			if !settledAs(queue, "a", test.outcome)() || len(queue.outcomes("b")) != 0 {
				t.Fatalf("settled %v and %v", queue.outcomes("a"), queue.outcomes("b"))
			}
		})
	}
}

func TestWhatComesWhileAWorkerEndsGoesBackOrIsHandledIfItCannot(t *testing.T) {
	t.Parallel()
	queue := newFakeQueue(t)
	var handled atomic.Int32
	worker, err := NewWorker(newTestClient(t, queue.URL, Options{}), func(_ context.Context, message *Message) error {
		if message.ID != "at most once" {
			t.Errorf("%s was handled", message.ID)
		}
		handled.Add(1)
		return nil
	}, WorkerOptions{Topics: []string{"t"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	run := newWorkerRun(worker, ctx)
	cancel()
	for _, message := range []*Message{{ID: "a", Receipt: "r-a", Lease: time.Hour}, {ID: "at most once"}} {
		run.slots <- struct{}{}
		run.begin(message)
	}
	if err := run.run(); err != nil || !settledAs(queue, "a", "release")() || handled.Load() != 1 {
		t.Fatalf("got %v, settled %v, handled %d", err, queue.outcomes("a"), handled.Load())
	}
}

func TestAWorkerGoesOnAfterTheGatewayWasAway(t *testing.T) {
	t.Parallel()
	queue := newFakeQueue(t, "a", "b")
	var refused atomic.Int32
	queue.refuse = func(_ http.ResponseWriter, request fakeRequest) bool {
		// Before it receives, and again when it settles.
		if n := refused.Add(1); n <= 2 || (request.uri == "/v1/settle" && n < 8) {
			loseConnection()
		}
		return false
	}
	worker := startWorker(t, queue, func(context.Context, *Message) error { return nil }, WorkerOptions{})
	eventually(t, "both handled", func() bool { return settledAs(queue, "a", "ack")() && settledAs(queue, "b", "ack")() })
	if worker.told(ErrGatewayUnreachable) != 1 {
		t.Fatalf("was told %v", worker.errors)
	}
}

func TestAMessageThatCannotBeSettledIsGivenUpWithItsLease(t *testing.T) {
	t.Parallel()
	queue := newFakeQueue(t, "a")
	queue.refuse = refusing("/v1/settle", ErrBrokerUnavailable, 503)
	worker := startWorker(t, queue, func(context.Context, *Message) error { return nil }, WorkerOptions{Lease: 3 * time.Second})
	eventually(t, "it is given up", func() bool { return worker.told(ErrBrokerUnavailable) == 1 })
	if err := worker.stopped(t); err != nil {
		t.Error(err)
	}
}

func TestAWorkerThatIsRefusedEnds(t *testing.T) {
	t.Parallel()
	for code, status := range map[Code]int{
		ErrInvalidArgument: 400, ErrUnauthorized: 401, ErrForbidden: 403, ErrTopicNotServed: 404, ErrNotFound: 404, ErrConfiguration: 409,
	} {
		queue := newFakeQueue(t)
		queue.refuse = refusing("", code, status)
		worker := startWorker(t, queue, func(context.Context, *Message) error { return nil }, WorkerOptions{})
		if err := worker.end(t); !errors.Is(err, code) {
			t.Errorf("%s: got %v", code, err)
		}
	}
}

func TestTheHandlersContextHasTheValuesOfTheWorkers(t *testing.T) {
	t.Parallel()
	type name struct{}
	queue := newFakeQueue(t, "a")
	seen := make(chan any, 1)
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), name{}, "value"))
	defer cancel()
	worker, err := NewWorker(newTestClient(t, queue.URL, Options{}), func(ctx context.Context, _ *Message) error {
		seen <- ctx.Value(name{})
		cancel()
		return ctx.Err()
	}, WorkerOptions{Topics: []string{"t"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.Run(ctx); err != nil || <-seen != "value" || !settledAs(queue, "a", "ack")() {
		t.Fatalf("got %v, settled %v", err, queue.outcomes("a"))
	}
}

func TestWrongOptionsOfAWorker(t *testing.T) {
	t.Parallel()
	client := newTestClient(t, "http://localhost", Options{})
	handler := func(context.Context, *Message) error { return nil }
	topics := []string{"t"}
	for _, options := range []WorkerOptions{
		{}, {Topics: topics, Concurrency: -1}, {Topics: topics, Lease: time.Millisecond},
		{Topics: topics, Wait: -1}, {Topics: topics, Timeout: -1},
	} {
		if _, err := NewWorker(client, handler, options); !errors.Is(err, ErrInvalidArgument) {
			t.Errorf("%+v: got %v", options, err)
		}
	}
	if _, err := NewWorker(client, nil, WorkerOptions{Topics: topics}); !errors.Is(err, ErrInvalidArgument) {
		t.Errorf("got %v", err)
	}
}
