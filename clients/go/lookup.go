package delayqueue

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// LookupOption says more about which message is meant; see [WithKey].
type LookupOption func(url.Values)

// WithKey names the key of the message, if it was published with one: its id is unique among the messages of that key.
func WithKey(key string) LookupOption {
	return func(query url.Values) { query.Set("key", key) }
}

func lookup(options []LookupOption) url.Values {
	query := url.Values{}
	for _, option := range options {
		option(query)
	}
	return query
}

func messageOf(topic, id string) []string {
	return []string{"v1", "topics", topic, "messages", id}
}

// State is where a message stands.
type State string

// The states of a message. "Due" is none: a message whose time has come is still scheduled.
const (
	StateScheduled State = "scheduled"
	StateInFlight  State = "in-flight"
	StateDead      State = "dead"
	// StateFinished is that of a message that has ended and is kept for a while.
	StateFinished State = "finished"
)

// Failure is why a message is dead, or why its last attempt failed.
type Failure struct {
	// Reason is "failed", "unrecoverable", "crashed", "expired", "invalid" or "undecodable".
	Reason  string `json:"reason"`
	Name    string `json:"name"`
	Message string `json:"message"`
	Code    string `json:"code"`
	Stack   string `json:"stack"`
	// LastError is why the attempt before failed, if the last one ended without an error of its own.
	LastError *Failure `json:"lastError"`
	// Issues are what the schema of the topic found wrong.
	Issues json.RawMessage `json:"issues"`
}

// FailedAttempt is an attempt that failed.
type FailedAttempt struct {
	At      time.Time `json:"at"`
	Attempt int       `json:"attempt"`
	Name    string    `json:"name"`
	Message string    `json:"message"`
	// Duration is how long it ran, in milliseconds.
	Duration float64 `json:"duration"`
}

// Details are a message as it is stored. What does not apply, or is not known, is the zero value.
type Details struct {
	ID        string `json:"id"`
	Key       string `json:"key"`
	Topic     string `json:"topic"`
	Partition int    `json:"partition"`
	State     State  `json:"state"`
	// Outcome is what became of a finished message: "acked", "cancelled" or "delivered".
	Outcome string `json:"outcome"`
	// At is when a scheduled message is due, the lease of one in flight ends, a dead one died, a finished one ended.
	At          time.Time `json:"at"`
	PublishedAt time.Time `json:"publishedAt"`
	// DueAt is when a finished message was due last.
	DueAt   time.Time         `json:"dueAt"`
	Payload json.RawMessage   `json:"payload"`
	Headers map[string]string `json:"headers"`
	Tags    []string          `json:"tags"`
	// Deliveries so far; Attempts are those that count.
	Deliveries int `json:"deliveries"`
	Attempts   int `json:"attempts"`
	// Failure is why it is dead, or why its latest attempt failed.
	Failure *Failure `json:"failure"`
	// History has the latest attempts that failed, the last one first; at most 10.
	History []FailedAttempt `json:"history"`
	// BlockedBy is the id of the message of its key that has to be done before, in an ordered topic.
	BlockedBy string `json:"blockedBy"`
	// Process names the process that has handled a finished message, and Duration is how long that took, in milliseconds.
	Process  string  `json:"process"`
	Duration float64 `json:"duration"`
	// Raw is the stored record.
	Raw string `json:"raw"`
}

// Decode reads the payload into v, as [json.Unmarshal] does.
func (d *Details) Decode(v any) error {
	return json.Unmarshal(d.Payload, v)
}

// Get looks a message up. Errors: [ErrNotFound] …
func (c *Client) Get(ctx context.Context, topic, id string, options ...LookupOption) (Details, error) {
	var details Details
	err := c.do(ctx, call{method: http.MethodGet, path: messageOf(topic, id), query: lookup(options)}, &details)
	return details, err
}

// CancelResult is what became of a message that was to be cancelled.
type CancelResult string

const (
	// CancelDone: it is never delivered.
	CancelDone CancelResult = "cancelled"
	// CancelInFlight: it is being handled; no attempt follows.
	CancelInFlight CancelResult = "in-flight"
	// CancelNotFound: there is no such message, or there is none any more.
	CancelNotFound CancelResult = "not-found"
)

// Cancel takes a message back.
func (c *Client) Cancel(ctx context.Context, topic, id string, options ...LookupOption) (CancelResult, error) {
	var answer struct {
		Result CancelResult `json:"result"`
	}
	given := call{method: http.MethodDelete, path: messageOf(topic, id), query: lookup(options), keyed: true}
	err := c.do(ctx, given, &answer)
	return answer.Result, err
}

// CancelledTagged counts what was cancelled by a tag.
type CancelledTagged struct {
	// Cancelled are never delivered.
	Cancelled int `json:"cancelled"`
	// InFlight are being handled; no attempt follows.
	InFlight int `json:"inFlight"`
}

// CancelTagged takes all messages of a topic back that carry a tag. Dead letters stay.
func (c *Client) CancelTagged(ctx context.Context, topic, tag string) (CancelledTagged, error) {
	var answer CancelledTagged
	given := call{method: http.MethodDelete, path: messagesOf(topic), query: url.Values{"tag": {tag}}, keyed: true}
	err := c.do(ctx, given, &answer)
	return answer, err
}

// Reschedule gives a message that waits another due time: [After] or [At]. It says whether there was one that waits.
func (c *Client) Reschedule(ctx context.Context, topic, id string, when When, options ...LookupOption) (bool, error) {
	var answer struct {
		Rescheduled bool `json:"rescheduled"`
	}
	given := call{method: http.MethodPatch, path: messageOf(topic, id), query: lookup(options), body: when, keyed: true}
	err := c.do(ctx, given, &answer)
	return answer.Rescheduled, err
}
