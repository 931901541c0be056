package delayqueue_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	delayqueue "nestjs-delay-queue/clients/go"
)

type Order struct{ ID string }

var errBankClosed = errors.New("the bank is closed")

// closeIfUnpaid and printInvoice are what the application of the README has.
func closeIfUnpaid(_ context.Context, order Order) error {
	if order.ID == "closed" {
		return errBankClosed
	}
	return nil
}

func printInvoice(payload json.RawMessage) error {
	if string(payload) == "{}" {
		return errors.New("there is nothing to print")
	}
	return nil
}

// The blocks of the README stand in these three functions as they are printed there.

func readmePublish(ctx context.Context) error {
	client, err := delayqueue.New("http://127.0.0.1:8080", delayqueue.Options{Token: os.Getenv("GATEWAY_TOKEN")})
	if err != nil {
		return err
	}
	published, err := client.Publish(ctx, "order.timeout", Order{ID: "42"}, &delayqueue.PublishOptions{
		ID:    "42",
		Delay: 30 * time.Minute,
	})
	switch {
	case errors.Is(err, delayqueue.ErrDuplicateMessage):
		log.Print("order 42 has its timeout already")
	case err != nil:
		return err
	default:
		log.Printf("due at %v", published.DueAt)
	}
	return nil
}

func readmeWork(ctx context.Context, client *delayqueue.Client) error {
	worker, err := delayqueue.NewWorker(client, func(ctx context.Context, message *delayqueue.Message) error {
		var order Order
		if err := message.Decode(&order); err != nil {
			return delayqueue.GiveUp("the payload is not an order: " + err.Error())
		}
		err := closeIfUnpaid(ctx, order)
		if errors.Is(err, errBankClosed) {
			return fmt.Errorf("%w: %v", delayqueue.RetryLater(time.Hour), err)
		}
		return err
	}, delayqueue.WorkerOptions{Topics: []string{"order.timeout"}, Concurrency: 20})
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	return worker.Run(ctx)
}

func readmeReceive(ctx context.Context, client *delayqueue.Client) error {
	messages, err := client.Receive(ctx, "invoice.print", &delayqueue.ReceiveOptions{Max: 50, Wait: 20 * time.Second, Lease: 2 * time.Minute})
	if err != nil {
		return err
	}
	for _, message := range messages {
		if err := printInvoice(message.Payload); err != nil {
			_, err = message.Retry(ctx, err.Error())
			if err != nil {
				return err
			}
			continue
		}
		status, err := message.Ack(ctx)
		if err != nil {
			return err
		}
		if status == delayqueue.Stale {
			log.Printf("invoice %s took longer than its lease, and is printed again", message.ID)
		}
	}
	return nil
}

// shop is a gateway with a few messages to receive once; it keeps what it was asked to settle.
type shop struct {
	mutex    sync.Mutex
	received bool
	settled  []string
	// allSettled is called when nothing is left to do.
	allSettled func()
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	answer := `{"id":"42","dueAt":"2026-01-01T00:00:00.000Z"}`
	switch {
	case strings.HasSuffix(r.URL.Path, "/receive") && s.received:
		answer = `{"messages":[]}`
	case strings.HasSuffix(r.URL.Path, "/receive"):
		s.received = true
		const message = `{"id":"%s","leaseEndsAt":"2026-01-01T00:00:00.000Z","receipt":"%s","payload":%s}`
		answer = `{"messages":[` + fmt.Sprintf(message, "1", "first", `{"ID":"1"}`) + "," + fmt.Sprintf(message, "2", "second", "{}") + "," +
			fmt.Sprintf(message, "3", "third", `{"ID":"closed"}`) + "," + fmt.Sprintf(message, "4", "fourth", `7`) + `]}`
	case r.URL.Path == "/v1/settle":
		var given struct {
			Settlements []struct{ Receipt, Outcome string }
		}
		_ = json.Unmarshal(body, &given)
		one := given.Settlements[0]
		s.settled = append(s.settled, one.Receipt+" "+one.Outcome)
		answer = `{"results":[{"receipt":"x","status":"stale"}]}`
		if len(s.settled) == 4 {
			s.allSettled()
		}
	}
	_, _ = io.WriteString(w, answer)
}

func (s *shop) expect(t *testing.T, expected ...string) {
	t.Helper()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.settled) != len(expected) {
		t.Errorf("settled %q, expected %q", s.settled, expected)
	}
	for _, one := range expected {
		if !strings.Contains(strings.Join(s.settled, ", "), one) {
			t.Errorf("settled %q, expected %q", s.settled, one)
		}
	}
}

func TestTheREADMEDoesWhatItSays(t *testing.T) {
	log.SetOutput(io.Discard)
	defer log.SetOutput(os.Stderr)
	for name, run := range map[string]func(context.Context, *delayqueue.Client, *shop){
		"work": func(ctx context.Context, client *delayqueue.Client, gateway *shop) {
			ctx, stop := context.WithCancel(ctx)
			gateway.allSettled = stop
			if err := readmeWork(ctx, client); err != nil {
				t.Errorf("got %v", err)
			}
			gateway.expect(t, "first ack", "second ack", "third retry", "fourth dead")
		},
		"receive": func(ctx context.Context, client *delayqueue.Client, gateway *shop) {
			if err := readmeReceive(ctx, client); err != nil {
				t.Errorf("got %v", err)
			}
			gateway.expect(t, "first ack", "second retry", "third ack", "fourth ack")
		},
	} {
		gateway := &shop{allSettled: func() {}}
		server := httptest.NewServer(gateway)
		client, err := delayqueue.New(server.URL, delayqueue.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		t.Run(name, func(*testing.T) { run(ctx, client, gateway) })
		cancel()
		server.Close()
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := readmePublish(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestTheREADMEPrintsWhatIsTested(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("readme_test.go")
	if err != nil {
		t.Fatal(err)
	}
	tested := withoutIndent(string(code))
	blocks := strings.Split(string(page), "```go\n")[1:]
	for _, rest := range blocks {
		block := strings.Split(rest, "```")[0]
		if !strings.Contains(tested, withoutIndent(block)) {
			t.Errorf("no test has this block of the README:\n%s", block)
		}
	}
	if len(blocks) != 3 {
		t.Errorf("the README has %d blocks of Go, and the tests have 3", len(blocks))
	}
}

func withoutIndent(code string) string {
	lines := strings.Split(code, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimLeft(line, "\t")
	}
	return strings.Join(lines, "\n")
}
