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
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
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

// The blocks of the README stand in these functions as they are printed there.

func readmePublish(ctx context.Context) error {
	client, err := delayqueue.New(os.Getenv("GATEWAY_URL"), delayqueue.Options{Token: os.Getenv("GATEWAY_TOKEN")})
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
			return delayqueue.Unrecoverable("the payload is not an order: " + err.Error())
		}
		err := closeIfUnpaid(ctx, order)
		if errors.Is(err, errBankClosed) {
			return fmt.Errorf("%w: %v", delayqueue.RetryLater(time.Hour), err)
		}
		return err
	}, delayqueue.WorkerOptions{Topics: []string{"order.timeout"}, Concurrency: 20, Timeout: 5 * time.Minute})
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	return worker.Run(ctx)
}

func readmeReceive(ctx context.Context, client *delayqueue.Client) error {
	messages, err := client.Receive(ctx, delayqueue.ReceiveOptions{Max: 50, Wait: 20 * time.Second, Lease: 2 * time.Minute}, "invoice.print")
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
		if status == delayqueue.StatusStale {
			log.Printf("invoice %s took longer than its lease, and is printed again", message.ID)
		}
	}
	return nil
}

func readmeErrors(err error) {
	var refused *delayqueue.Error
	if errors.As(err, &refused) {
		log.Printf("%s (status %d): %s", refused.Code, refused.Status, refused.Detail)
		for _, issue := range refused.Issues {
			log.Printf("the schema of the topic says of %s: %s", issue.Path, issue.Message)
		}
	}
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
		const message = `{"id":"%s","lease":120000,"receipt":"%s","payload":%s}`
		answer = `{"messages":[` + fmt.Sprintf(message, "1", "first", `{"ID":"1"}`) + "," + fmt.Sprintf(message, "2", "second", "{}") + "," +
			fmt.Sprintf(message, "3", "third", `{"ID":"closed"}`) + "," + fmt.Sprintf(message, "4", "fourth", `7`) + `]}`
	case r.URL.Path == "/v1/settle":
		var given struct {
			Settlements []struct{ Receipt, Outcome string }
		}
		_ = json.Unmarshal(body, &given)
		var results []string
		for _, one := range given.Settlements {
			s.settled = append(s.settled, one.Receipt+" "+one.Outcome)
			results = append(results, `{"receipt":"x","status":"stale"}`)
		}
		answer = `{"results":[` + strings.Join(results, ",") + `]}`
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

func gatewayOf(t *testing.T, handler http.Handler) string {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func clientOf(t *testing.T, gateway http.Handler) *delayqueue.Client {
	t.Helper()
	client, err := delayqueue.New(gatewayOf(t, gateway), delayqueue.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// logged is what the standard logger has written until the test ends.
func logged(t *testing.T) *strings.Builder {
	var written strings.Builder
	log.SetOutput(&written)
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	return &written
}

func TestTheREADMEPublishes(t *testing.T) {
	for expected, answer := range map[string]func(w http.ResponseWriter){
		"due at 2026-01-01": func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, `{"id":"42","dueAt":"2026-01-01T00:00:00.000Z"}`)
		},
		"order 42 has its timeout already": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, `{"code":"DUPLICATE_MESSAGE","status":409,"detail":"why"}`)
		},
	} {
		written := logged(t)
		var body, token string
		t.Setenv("GATEWAY_TOKEN", "a-token")
		t.Setenv("GATEWAY_URL", gatewayOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			content, _ := io.ReadAll(r.Body)
			body, token = string(content), r.Header.Get("Authorization")
			answer(w)
		})))
		if err := readmePublish(context.Background()); err != nil || !strings.Contains(written.String(), expected) {
			t.Errorf("got %v, logged %s", err, written)
		}
		if body != `{"delay":1800000,"id":"42","payload":{"ID":"42"}}` || token != "Bearer a-token" {
			t.Errorf("sent %s with %s", body, token)
		}
	}
}

func TestTheREADMEWorks(t *testing.T) {
	logged(t)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	gateway := &shop{allSettled: stop}
	if err := readmeWork(ctx, clientOf(t, gateway)); err != nil {
		t.Errorf("got %v", err)
	}
	gateway.expect(t, "first ack", "second ack", "third release", "fourth dead")
}

func TestTheREADMEReceives(t *testing.T) {
	written := logged(t)
	gateway := &shop{allSettled: func() {}}
	if err := readmeReceive(context.Background(), clientOf(t, gateway)); err != nil {
		t.Errorf("got %v", err)
	}
	gateway.expect(t, "first ack", "second retry", "third ack", "fourth ack")
	if !strings.Contains(written.String(), "invoice 1 took longer than its lease") {
		t.Errorf("logged %s", written)
	}
}

func TestTheREADMELooksAtErrors(t *testing.T) {
	written := logged(t)
	readmeErrors(fmt.Errorf("wrapped: %w", &delayqueue.Error{
		Code: delayqueue.ErrInvalidPayload, Status: 400, Detail: "why", Issues: []delayqueue.PayloadIssue{{Path: "n", Message: "no number"}},
	}))
	for _, expected := range []string{"INVALID_PAYLOAD (status 400): why", "the schema of the topic says of n: no number"} {
		if !strings.Contains(written.String(), expected) {
			t.Errorf("logged %s", written)
		}
	}
}

// blocksOf gives the README's blocks of a language.
func blocksOf(t *testing.T, language string) []string {
	t.Helper()
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, rest := range strings.Split(string(page), "```"+language+"\n")[1:] {
		blocks = append(blocks, strings.Split(rest, "```")[0])
	}
	return blocks
}

func TestTheREADMEPrintsWhatIsTested(t *testing.T) {
	code, err := os.ReadFile("readme_test.go")
	if err != nil {
		t.Fatal(err)
	}
	tested := withoutIndent(string(code))
	blocks := blocksOf(t, "go")
	for _, block := range blocks {
		if !strings.Contains(tested, withoutIndent(block)) {
			t.Errorf("no test has this block of the README:\n%s", block)
		}
	}
	if len(blocks) != 4 {
		t.Errorf("the README has %d blocks of Go, and the tests have 4", len(blocks))
	}
}

func TestTheREADMEInstalls(t *testing.T) {
	client, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	module, bin := t.TempDir(), t.TempDir()
	// It packs the client alone.
	npm := "#!/bin/sh\nmkdir -p package/clients && cp -R '" + client + "' package/clients/go && tar czf \"$2-0.1.0.tgz\" package && rm -r package\n"
	if err := os.WriteFile(filepath.Join(bin, "npm"), []byte(npm), 0o700); err != nil {
		t.Fatal(err)
	}
	path := "PATH=" + bin + string(filepath.ListSeparator) + os.Getenv("PATH")
	run := func(command string, args ...string) {
		t.Helper()
		child := exec.Command(command, args...)
		child.Dir = module
		child.Env = append(os.Environ(), path, "GOFLAGS=", "GOPROXY=off", "GOWORK=off")
		if output, err := child.CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", command, args, err, output)
		}
	}
	const program = "package main\n\nimport delayqueue \"nestjs-delay-queue/clients/go\"\n\n" +
		"func main() {\n\tif _, err := delayqueue.New(\"http://localhost\", delayqueue.Options{}); err != nil {\n\t\tpanic(err)\n\t}\n}\n"
	if err := os.WriteFile(filepath.Join(module, "main.go"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	run("go", "mod", "init", "example.com/shop")
	blocks := blocksOf(t, "sh")
	for _, block := range blocks {
		run("sh", "-e", "-c", block)
	}
	run("go", "mod", "tidy")
	run("go", "run", ".")
	if len(blocks) != 1 {
		t.Errorf("the README has %d blocks of sh", len(blocks))
	}
}

func TestTheREADMEListsAllOptions(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	tables := strings.Split(string(page), "| option ")[1:]
	if len(tables) != 2 {
		t.Fatalf("the README has %d tables of options", len(tables))
	}
	for i, options := range []any{delayqueue.Options{}, delayqueue.WorkerOptions{}} {
		var fields, listed []string
		for _, field := range reflect.VisibleFields(reflect.TypeOf(options)) {
			fields = append(fields, field.Name)
		}
		for _, row := range strings.Split(strings.Split(tables[i], "\n\n")[0], "\n| `")[1:] {
			listed = append(listed, strings.Split(row, "`")[0])
		}
		if !reflect.DeepEqual(listed, fields) {
			t.Errorf("the README lists %q of %q", listed, fields)
		}
	}
}

func withoutIndent(code string) string {
	lines := strings.Split(code, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimLeft(line, "\t")
	}
	return strings.Join(lines, "\n")
}
