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

func startWorker(t *testing.T, queue *fakeQueue, handler Handler, options WorkerOptions) *startedWorker {
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
	go func() { started.ended <- worker.Run(ctx) }()
	t.Cleanup(stop)
	return started
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
	case <-time.After(10 * time.Second):
		t.Fatal("the worker has not ended within 10 s")
		return nil
	}
}

func (s *startedWorker) wasTold(target error) int {
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

func TestWhatAHandlerReturnsIsSettled(t *testing.T) {
	t.Parallel()
	failure := errors.New("no answer")
	outcomes := map[string]func() error{
		"ack":             func() error { return nil },
		"retry no answer": func() error { return failure },
		"retry 60000 closed: to be tried again in 1m0s": func() error { return fmt.Errorf("closed: %w", RetryLater(time.Minute)) },
		"dead no such order":                            func() error { return GiveUp("no such order") },
		"dead order 7: no such order":                   func() error { return fmt.Errorf("order 7: %w", GiveUp("no such order")) },
		"retry the handler panicked: oh":                func() error { panic("oh") },
		"retry the handler ended its goroutine":         func() error { runtime.Goexit(); return nil },
		"retry " + strings.Repeat("x", 2000):            func() error { return errors.New(strings.Repeat("x", 5000)) },
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
	if worker.wasTold(failure) != 1 || panicked == nil || !strings.Contains(string(panicked.Stack), "worker_test.go") {
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
	var running, most, calls int32
	startWorker(t, queue, func(context.Context, *Message) error {
		now := atomic.AddInt32(&running, 1)
		for seen := atomic.LoadInt32(&most); now > seen && !atomic.CompareAndSwapInt32(&most, seen, now); seen = atomic.LoadInt32(&most) {
		}
		time.Sleep(20 * time.Millisecond)
		atomic.AddInt32(&running, -1)
		atomic.AddInt32(&calls, 1)
		return nil
	}, WorkerOptions{Concurrency: 4})
	eventually(t, "all handled", func() bool { return atomic.LoadInt32(&calls) == 20 })
	if most != 4 {
		t.Errorf("%d at once", most)
	}
	queue.mutex.Lock()
	defer queue.mutex.Unlock()
	if queue.asked[0] != 4 {
		t.Errorf("asked for %d at first", queue.asked[0])
	}
}

func TestLeasesAreRenewed(t *testing.T) {
	t.Parallel()
	queue := newFakeQueue(t, "a", "b")
	worker := startWorker(t, queue, func(ctx context.Context, _ *Message) error {
		return sleep(ctx, 1500*time.Millisecond)
	}, WorkerOptions{Lease: time.Second})
	eventually(t, "both handled", func() bool { return settledAs(queue, "a", "ack")() && settledAs(queue, "b", "ack")() })
	queue.mutex.Lock()
	renewals := queue.extended["a"]
	queue.mutex.Unlock()
	if renewals < 2 {
		t.Errorf("renewed %d times", renewals)
	}
	if worker.wasTold(ErrLeaseLost) != 0 {
		t.Errorf("was told %v", worker.errors)
	}
}

func TestALostLeaseEndsTheHandlersContext(t *testing.T) {
	t.Parallel()
	lost := func(queue *fakeQueue) { queue.extendStatus = "lost" }
	away := func(queue *fakeQueue) {
		queue.refuse = func(w http.ResponseWriter, path string) bool {
			if path == "/v1/extend" {
				respond(w, 503, problemBody(CodeBrokerUnavailable, 503))
			}
			return path == "/v1/extend"
		}
	}
	for name, change := range map[string]func(queue *fakeQueue){"the gateway says so": lost, "it cannot be renewed": away} {
		change := change
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			queue := newFakeQueue(t, "a")
			change(queue)
			handled := make(chan error, 1)
			worker := startWorker(t, queue, func(ctx context.Context, _ *Message) error {
				handled <- sleep(ctx, 5*time.Second)
				return ctx.Err()
			}, WorkerOptions{Lease: time.Second})
			if err := <-handled; !errors.Is(err, context.Canceled) {
				t.Fatalf("the handler went on: %v", err)
			}
			if err := worker.stopped(t); err != nil {
				t.Fatal(err)
			}
			if worker.wasTold(ErrLeaseLost) != 1 || len(queue.outcomes("a")) != 0 {
				t.Fatalf("was told %v, settled %v", worker.errors, queue.outcomes("a"))
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
		// Longer than the lease, which it keeps.
		time.Sleep(1200 * time.Millisecond)
		return ctx.Err()
	}, WorkerOptions{Lease: time.Second})
	eventually(t, "settled, so that others of its key go on", settledAs(queue, "a", "retry context canceled"))
	if worker.wasTold(ErrMessageCancelled) != 1 || worker.wasTold(ErrLeaseLost) != 0 {
		t.Fatalf("was told %v", worker.errors)
	}
}

func TestAWorkerThatEndsWaitsForItsHandlers(t *testing.T) {
	t.Parallel()
	queue := newFakeQueue(t, "a")
	begun := make(chan struct{})
	worker := startWorker(t, queue, func(ctx context.Context, _ *Message) error {
		close(begun)
		return sleep(ctx, 200*time.Millisecond)
	}, WorkerOptions{})
	<-begun
	if err := worker.stopped(t); err != nil {
		t.Fatal(err)
	}
	if !settledAs(queue, "a", "ack")() {
		t.Fatalf("settled %v", queue.outcomes("a"))
	}
}

func TestHandlersThatTakeTooLongAreReleased(t *testing.T) {
	t.Parallel()
	queue := newFakeQueue(t, "heeds", "ignores")
	begun := make(chan struct{}, 2)
	end := make(chan struct{})
	worker := startWorker(t, queue, func(ctx context.Context, message *Message) error {
		begun <- struct{}{}
		if message.ID == "heeds" {
			<-ctx.Done()
			return ctx.Err()
		}
		<-end
		return nil
	}, WorkerOptions{ShutdownTimeout: 50 * time.Millisecond})
	<-begun
	<-begun
	if err := worker.stopped(t); !errors.Is(err, ErrHandlersLeft) || !strings.HasSuffix(err.Error(), ": 1") {
		t.Fatalf("got %v", err)
	}
	close(end)
	// An ack of the handler that was left would come in this time.
	time.Sleep(50 * time.Millisecond)
	if !settledAs(queue, "heeds", "release")() || !settledAs(queue, "ignores", "release")() {
		t.Fatalf("settled %v and %v", queue.outcomes("heeds"), queue.outcomes("ignores"))
	}
}

func TestWhatComesWhileAWorkerEndsGoesBack(t *testing.T) {
	t.Parallel()
	queue := newFakeQueue(t)
	worker, err := NewWorker(newTestClient(t, queue.URL, Options{}), func(context.Context, *Message) error {
		t.Error("it was handled")
		return nil
	}, WorkerOptions{Topics: []string{"t"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	run := newWorkerRun(worker, ctx)
	cancel()
	run.slots <- struct{}{}
	run.begin(&Message{ID: "a", Receipt: "r-a", LeaseEndsAt: time.Now(), client: worker.client})
	if err := run.run(); err != nil || !settledAs(queue, "a", "release")() {
		t.Fatalf("got %v, settled %v", err, queue.outcomes("a"))
	}
}

func TestAWorkerGoesOnAfterTheGatewayWasAway(t *testing.T) {
	t.Parallel()
	queue := newFakeQueue(t, "a", "b")
	var refused int32
	queue.refuse = func(_ http.ResponseWriter, path string) bool {
		// Before it receives, and again when it settles.
		if atomic.AddInt32(&refused, 1) <= 2 || (path == "/v1/settle" && atomic.LoadInt32(&refused) < 8) {
			loseConnection()
		}
		return false
	}
	worker := startWorker(t, queue, func(context.Context, *Message) error { return nil }, WorkerOptions{})
	eventually(t, "both handled", func() bool { return settledAs(queue, "a", "ack")() && settledAs(queue, "b", "ack")() })
	if worker.wasTold(ErrUnavailable) < 2 {
		t.Fatalf("was told %v", worker.errors)
	}
}

func TestAMessageThatCannotBeSettledIsGivenUpWithItsLease(t *testing.T) {
	t.Parallel()
	queue := newFakeQueue(t, "a")
	var settles int32
	queue.refuse = func(w http.ResponseWriter, path string) bool {
		if path == "/v1/settle" {
			atomic.AddInt32(&settles, 1)
		}
		if path == "/v1/settle" || path == "/v1/extend" {
			respond(w, 503, problemBody(CodeBrokerUnavailable, 503))
			return true
		}
		return false
	}
	worker := startWorker(t, queue, func(context.Context, *Message) error { return nil }, WorkerOptions{Lease: time.Second})
	eventually(t, "the lease is lost", func() bool { return worker.wasTold(ErrLeaseLost) == 1 })
	tries := atomic.LoadInt32(&settles)
	time.Sleep(longestPause + 200*time.Millisecond)
	// One may have been under way.
	if later := atomic.LoadInt32(&settles); tries < 2 || later > tries+1 {
		t.Errorf("%d tries, and %d after the lease", tries, later-tries)
	}
	worker.mutex.Lock()
	defer worker.mutex.Unlock()
	for _, err := range worker.errors {
		if strings.Contains(err.Error(), "not settled") {
			t.Errorf("was told %v", err)
		}
	}
}

func TestALeaseThatEndsWithASettleIsNotLost(t *testing.T) {
	t.Parallel()
	queue := newFakeQueue(t, "a")
	queue.extendStatus = "lost"
	queue.refuse = func(_ http.ResponseWriter, path string) bool {
		if path == "/v1/settle" {
			time.Sleep(600 * time.Millisecond)
		}
		return false
	}
	worker := startWorker(t, queue, func(context.Context, *Message) error { return nil }, WorkerOptions{Lease: time.Second})
	eventually(t, "it is acknowledged", settledAs(queue, "a", "ack"))
	if err := worker.stopped(t); err != nil || len(worker.errors) != 0 {
		t.Fatalf("got %v, was told %v", err, worker.errors)
	}
}

func TestAWorkerThatIsRefusedEnds(t *testing.T) {
	t.Parallel()
	for code, expected := range map[Code]error{
		CodeUnauthorized: ErrUnauthorized, CodeForbidden: ErrForbidden, CodeTopicNotServed: ErrTopicNotServed, CodeInvalidArgument: ErrInvalidArgument,
	} {
		code := code
		queue := newFakeQueue(t)
		queue.refuse = func(w http.ResponseWriter, _ string) bool {
			respond(w, 400, problemBody(code, 400))
			return true
		}
		worker := startWorker(t, queue, func(context.Context, *Message) error { return nil }, WorkerOptions{})
		if err := worker.end(t); !errors.Is(err, expected) {
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
		{}, {Topics: topics, Concurrency: -1}, {Topics: topics, Concurrency: 1001}, {Topics: topics, Lease: time.Millisecond},
		{Topics: topics, Wait: -1}, {Topics: topics, ShutdownTimeout: -1},
	} {
		if _, err := NewWorker(client, handler, options); !errors.Is(err, ErrInvalidArgument) {
			t.Errorf("%+v: got %v", options, err)
		}
	}
	if _, err := NewWorker(client, nil, WorkerOptions{Topics: topics}); !errors.Is(err, ErrInvalidArgument) {
		t.Errorf("got %v", err)
	}
}
