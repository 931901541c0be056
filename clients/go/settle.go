package delayqueue

import (
	"context"
	"net/http"
	"time"
)

// Outcome is what is to become of a message.
type Outcome string

const (
	// Ack: it is handled.
	Ack Outcome = "ack"
	// Retry: the attempt has failed, and the message comes again, or becomes a dead letter after its last attempt.
	Retry Outcome = "retry"
	// Dead: it becomes a dead letter at once.
	Dead Outcome = "dead"
	// Release: it comes again, at once or after a delay, and no attempt is spent.
	Release Outcome = "release"
)

// Settlement says what is to become of the message that a receipt stands for.
type Settlement struct {
	Receipt string  `wire:"receipt"`
	Outcome Outcome `wire:"outcome"`
	// Delay is the time until a [Retry] or a [Release] comes again. Default: by the backoff of the message, and at once.
	Delay *time.Duration `wire:"delay"`
	// Reason of a [Retry] or a [Dead]; kept with the message. Default: none.
	Reason string `wire:"reason"`
	// Error is in place of a Reason what a handler has failed with; kept with the message. Default: none.
	Error *HandlerError `wire:"error"`
}

// HandlerError is what a handler has failed with, as it is kept with the message: up to 4,096 characters of each text.
type HandlerError struct {
	Name    string `wire:"name"`
	Message string `wire:"message"`
	// Stack may be empty.
	Stack string `wire:"stack"`
}

// Extension makes the lease of a message end so long after now, at least 1 s.
type Extension struct {
	Receipt string        `wire:"receipt"`
	Lease   time.Duration `wire:"lease"`
}

// Status is what a call has done to a message.
type Status string

const (
	// StatusSettled: the settlement took effect.
	StatusSettled Status = "settled"
	// StatusExtended: the lease ends so long after now.
	StatusExtended Status = "extended"
	// StatusStale: nothing was changed. The message was settled before, or its lease had ended and it was delivered again.
	StatusStale Status = "stale"
	// StatusCancelled: the message is cancelled, so it does not come again, whatever it was settled with. Its lease was extended all the same.
	StatusCancelled Status = "cancelled"
	// StatusReplaced: the message was replaced before it was settled, and the new one comes.
	StatusReplaced Status = "replaced"
	// StatusMoved: the message has its new due time.
	StatusMoved Status = "moved"
	// StatusInFlight: the message is being handled.
	StatusInFlight Status = "in-flight"
	// StatusDead: the message is a dead letter.
	StatusDead Status = "dead"
	// StatusNotFound: there is no such message, or there is none any more.
	StatusNotFound Status = "not-found"
)

// Result is what became of one settlement or extension.
type Result struct {
	Receipt string `json:"receipt"`
	Status  Status `json:"status"`
}

// Settle settles 1 to 1,000 messages with one request, in any process; each is [StatusSettled], [StatusStale], [StatusCancelled] or
// [StatusReplaced]. The results are in the order of the settlements. If the response is lost, the call is repeated and answered as the first
// time.
func (c *Client) Settle(ctx context.Context, settlements ...Settlement) ([]Result, error) {
	return c.settle(ctx, 0, settlements...)
}

func (c *Client) settle(ctx context.Context, retryFor time.Duration, settlements ...Settlement) ([]Result, error) {
	given := call{path: []string{"v1", "settle"}, keyed: true, retryFor: retryFor}
	return c.results(ctx, given, "settlements", settlements, len(settlements))
}

// Extend extends the leases of 1 to 1,000 messages with one request, in any process; each is [StatusExtended], [StatusCancelled] or
// [StatusStale]. The results are in the order of the extensions.
func (c *Client) Extend(ctx context.Context, extensions ...Extension) ([]Result, error) {
	return c.extend(ctx, 0, extensions...)
}

func (c *Client) extend(ctx context.Context, retryFor time.Duration, extensions ...Extension) ([]Result, error) {
	given := call{path: []string{"v1", "extend"}, retryFor: retryFor}
	return c.results(ctx, given, "extensions", extensions, len(extensions))
}

// results makes a call with a list that is answered by one of the same length.
func (c *Client) results(ctx context.Context, given call, name string, list any, length int) ([]Result, error) {
	type results struct {
		Results []Result `json:"results"`
	}
	given.method, given.body = http.MethodPost, map[string]any{name: wire(list)}
	answer, err := send[results](ctx, c, given)
	if err != nil {
		return nil, err
	}
	if len(answer.Results) != length {
		return nil, miscounted(len(answer.Results), length)
	}
	return answer.Results, nil
}

func only(results []Result, err error) (Status, error) {
	if err != nil {
		return "", err
	}
	return results[0].Status, nil
}
