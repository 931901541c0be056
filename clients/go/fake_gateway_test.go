package delayqueue

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeRequest is what a test sees of a request.
type fakeRequest struct {
	method string
	// uri is as it was sent, escapes included.
	uri    string
	header http.Header
	body   string
	// gone is closed when whoever asked does not wait any more.
	gone <-chan struct{}
}

// fakeServer answers with what a test says, and keeps what it was asked.
type fakeServer struct {
	*httptest.Server
	mutex    sync.Mutex
	requests []fakeRequest
}

func newFakeServer(t *testing.T, answer func(w http.ResponseWriter, request fakeRequest, tries int)) *fakeServer {
	t.Helper()
	fake := &fakeServer{}
	fake.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		request := fakeRequest{method: r.Method, uri: r.RequestURI, header: r.Header, body: string(body), gone: r.Context().Done()}
		fake.mutex.Lock()
		fake.requests = append(fake.requests, request)
		tries := len(fake.requests)
		fake.mutex.Unlock()
		answer(w, request, tries)
	}))
	t.Cleanup(fake.Close)
	return fake
}

func (f *fakeServer) seen() []fakeRequest {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return append([]fakeRequest(nil), f.requests...)
}

func answerWith(t *testing.T, status int, body string) *fakeServer {
	return newFakeServer(t, func(w http.ResponseWriter, _ fakeRequest, _ int) { respond(w, status, body) })
}

func respond(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func problemBody(code Code, status int) string {
	return fmt.Sprintf(`{"type":"urn:x","title":"a title","status":%d,"detail":"a detail","code":%q}`, status, code)
}

// loseConnection ends a request without an answer.
func loseConnection() { panic(http.ErrAbortHandler) }

func newTestClient(t *testing.T, url string, options Options) *Client {
	t.Helper()
	client, err := New(url, options)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// fakeQueue is a gateway with messages to receive, for workers.
type fakeQueue struct {
	*fakeServer
	mutex sync.Mutex
	// waiting messages, each received once.
	waiting []string
	// asked says how many messages each request wanted.
	asked []int
	// settled has outcomes by message, such as `ack` or `retry 500 why`.
	settled map[string][]string
	// extended counts by message.
	extended map[string]int
	// extendStatus is "extended" if it is empty.
	extendStatus string
	// refuse answers with something else, if it is set; it says whether it did.
	refuse func(w http.ResponseWriter, request fakeRequest) bool
}

func newFakeQueue(t *testing.T, messages ...string) *fakeQueue {
	queue := &fakeQueue{waiting: messages, settled: map[string][]string{}, extended: map[string]int{}}
	queue.fakeServer = newFakeServer(t, func(w http.ResponseWriter, request fakeRequest, _ int) {
		queue.mutex.Lock()
		refuse := queue.refuse
		queue.mutex.Unlock()
		switch {
		case refuse != nil && refuse(w, request):
		case request.uri == "/v1/receive":
			queue.receive(w, request)
		case request.uri == "/v1/settle":
			queue.settle(w, request)
		case request.uri == "/v1/extend":
			queue.extend(w, request)
		default:
			respond(w, 404, problemBody(ErrNotFound, 404))
		}
	})
	return queue
}

func (q *fakeQueue) receive(w http.ResponseWriter, request fakeRequest) {
	wanted := struct{ Max, Lease int }{Max: 1, Lease: 30_000}
	_ = json.Unmarshal([]byte(request.body), &wanted)
	q.mutex.Lock()
	q.asked = append(q.asked, wanted.Max)
	taken := q.waiting
	if len(taken) > wanted.Max {
		taken = taken[:wanted.Max]
	}
	q.waiting = q.waiting[len(taken):]
	q.mutex.Unlock()
	if len(taken) == 0 {
		time.Sleep(20 * time.Millisecond) // It would wait for longer.
	}
	messages := make([]string, len(taken))
	for i, id := range taken {
		messages[i] = fmt.Sprintf(`{"id":%q,"topic":"t","attempt":1,"lease":%d,"receipt":"r-%s"}`, id, wanted.Lease, id)
	}
	respond(w, 200, `{"messages":[`+strings.Join(messages, ",")+`]}`)
}

func (q *fakeQueue) settle(w http.ResponseWriter, request fakeRequest) {
	var given struct {
		Settlements []struct {
			Receipt, Outcome, Reason string
			Error                    struct{ Name, Message, Stack string }
			Delay                    *int
		}
	}
	_ = json.Unmarshal([]byte(request.body), &given)
	q.mutex.Lock()
	defer q.mutex.Unlock()
	results := make([]string, len(given.Settlements))
	for i, one := range given.Settlements {
		told := one.Outcome
		if one.Delay != nil {
			told += fmt.Sprintf(" %d", *one.Delay)
		}
		if one.Reason += one.Error.Message; one.Reason != "" {
			told += " " + one.Reason
		}
		id := strings.TrimPrefix(one.Receipt, "r-")
		q.settled[id] = append(q.settled[id], told)
		results[i] = fmt.Sprintf(`{"receipt":%q,"status":"settled"}`, one.Receipt)
	}
	respond(w, 200, `{"results":[`+strings.Join(results, ",")+`]}`)
}

func (q *fakeQueue) extend(w http.ResponseWriter, request fakeRequest) {
	var given struct{ Extensions []struct{ Receipt string } }
	_ = json.Unmarshal([]byte(request.body), &given)
	q.mutex.Lock()
	defer q.mutex.Unlock()
	status := q.extendStatus
	if status == "" {
		status = "extended"
	}
	results := make([]string, len(given.Extensions))
	for i, one := range given.Extensions {
		q.extended[strings.TrimPrefix(one.Receipt, "r-")]++
		results[i] = fmt.Sprintf(`{"receipt":%q,"status":%q}`, one.Receipt, status)
	}
	respond(w, 200, `{"results":[`+strings.Join(results, ",")+`]}`)
}

func (q *fakeQueue) requestsTo(uri string) (count int) {
	for _, request := range q.seen() {
		if request.uri == uri {
			count++
		}
	}
	return count
}

func (q *fakeQueue) renewals(id string) int {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return q.extended[id]
}

func (q *fakeQueue) outcomes(id string) []string {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return append([]string(nil), q.settled[id]...)
}

// patience is how long a test waits for what comes at once, unless the machine has other things to do.
const patience = time.Minute

// eventually waits for what other goroutines bring about.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if is() {
			return
		}
	}
	t.Fatalf("not within %v: %s", patience, what)
}
