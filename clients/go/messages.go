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

// toMessage is a call about one message; more segments of its path may follow.
func toMessage(method, topic, id string, options []LookupOption, more ...string) call {
	query := url.Values{}
	for _, option := range options {
		option(query)
	}
	return call{method: method, path: append(append(messagesOf(topic), id), more...), query: query}
}

// Failure is why a message is dead, why its last attempt failed, or an error behind that. What does not apply is the zero value.
type Failure struct {
	// Reason is "failed", "unrecoverable", "crashed", "expired", "invalid" or "undecodable"; errors behind it have none.
	Reason  string    `json:"reason"`
	Name    string    `json:"name"`
	Message string    `json:"message"`
	Code    string    `json:"code"`
	Stack   string    `json:"stack"`
	Cause   *Failure  `json:"cause"`
	Errors  []Failure `json:"errors"`
	// LastError is why the attempt before failed, if the last one ended without an error of its own.
	LastError *Failure `json:"lastError"`
	// Issues are what the schema of the topic found wrong.
	Issues []PayloadIssue `json:"issues"`
}

// FailedAttempt is an attempt that failed.
type FailedAttempt struct {
	At      time.Time `json:"at"`
	Attempt int       `json:"attempt"`
	Name    string    `json:"name"`
	Message string    `json:"message"`
	// Duration is how long it ran.
	Duration time.Duration `json:"duration"`
}

// UnmarshalJSON reads what the gateway writes: lengths of time are milliseconds there.
func (a *FailedAttempt) UnmarshalJSON(text []byte) error {
	type plain FailedAttempt
	return json.Unmarshal(text, &struct {
		*plain
		Duration *millis `json:"duration"`
	}{(*plain)(a), (*millis)(&a.Duration)})
}

// Details are a message as it is stored. What does not apply, or is not known, is the zero value.
type Details struct {
	ID        string `json:"id"`
	Key       string `json:"key"`
	Topic     string `json:"topic"`
	Partition int    `json:"partition"`
	// State is "scheduled", also once the message is due, "in-flight", "dead", or "finished": it has ended and is kept for a while.
	State string `json:"state"`
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
	// MaxAttempts, Backoff, Timeout and ExpireAfter are those that it was published with; 0 and nil are those of the topic.
	MaxAttempts int             `json:"maxAttempts"`
	Backoff     json.RawMessage `json:"backoff"`
	Timeout     time.Duration   `json:"timeout"`
	ExpireAfter time.Duration   `json:"expireAfter"`
	// Failure is why it is dead, or why its latest attempt failed.
	Failure *Failure `json:"failure"`
	// History has the latest attempts that failed, the last one first; at most 10.
	History []FailedAttempt `json:"history"`
	// BlockedBy is the id of the message of its key that has to be done before, in an ordered topic.
	BlockedBy string `json:"blockedBy"`
	// Process names the process that has handled a finished message, and Duration is how long that took.
	Process  string        `json:"process"`
	Duration time.Duration `json:"duration"`
}

// UnmarshalJSON reads what the gateway writes: lengths of time are milliseconds there.
func (d *Details) UnmarshalJSON(text []byte) error {
	type plain Details
	return json.Unmarshal(text, &struct {
		*plain
		Timeout     *millis `json:"timeout"`
		ExpireAfter *millis `json:"expireAfter"`
		Duration    *millis `json:"duration"`
	}{(*plain)(d), (*millis)(&d.Timeout), (*millis)(&d.ExpireAfter), (*millis)(&d.Duration)})
}

// Decode reads the payload into v, as [Message.Decode] does.
func (d *Details) Decode(v any) error {
	return decodeExactly(d.Payload, v)
}

// Get looks a message up. Errors: [ErrMessageNotFound] …
func (c *Client) Get(ctx context.Context, topic, id string, options ...LookupOption) (Details, error) {
	return send[Details](ctx, c, toMessage(http.MethodGet, topic, id, options))
}

type changed struct {
	Result Status `json:"result"`
}

// Cancel takes a message back: [StatusCancelled], [StatusInFlight] (no attempt follows) or [StatusNotFound], which is also the answer if the
// response to the first try was lost.
func (c *Client) Cancel(ctx context.Context, topic, id string, options ...LookupOption) (Status, error) {
	answer, err := send[changed](ctx, c, toMessage(http.MethodDelete, topic, id, options))
	return answer.Result, err
}

// CancelledTagged counts what was cancelled by a tag.
type CancelledTagged struct {
	// Cancelled are never delivered.
	Cancelled int `json:"cancelled"`
	// InFlight are being handled; no attempt follows.
	InFlight int `json:"inFlight"`
}

// CancelTagged takes all messages of a topic back that carry a tag. Dead letters stay. If the response to the first try is lost, what was
// cancelled by it is not counted.
func (c *Client) CancelTagged(ctx context.Context, topic, tag string) (CancelledTagged, error) {
	return send[CancelledTagged](ctx, c, call{method: http.MethodDelete, path: messagesOf(topic), query: url.Values{"tag": {tag}}})
}

// Reschedule gives a message that waits another due time, which is [After], [At] or [AtLocal]. It is [StatusMoved], or as it was:
// [StatusInFlight], [StatusDead], [StatusNotFound].
func (c *Client) Reschedule(ctx context.Context, topic, id string, when When, options ...LookupOption) (Status, error) {
	if when.name == "" {
		return "", invalid("the time is missing: give After(delay), At(time) or AtLocal(time)")
	}
	given := toMessage(http.MethodPatch, topic, id, options)
	given.body = map[string]any{when.name: wire(when.value)}
	answer, err := send[changed](ctx, c, given)
	return answer.Result, err
}

// Explanation is why a message has not run, or what became of it.
type Explanation struct {
	// Cause is "unknown-id", "finished", "dead", "running", "retrying", "not-due", "paused", "no-consumer", "no-owner", "owner-silent",
	// "blocked-by-key", "rate-limited", "max-in-flight", "starved" or "behind". If several hold, it is the first one in this order.
	Cause string `json:"cause"`
	// Also are the other causes that hold.
	Also  []string `json:"also"`
	Facts Facts    `json:"facts"`
	// Advice says what it means and what to do.
	Advice string `json:"advice"`
}

// Facts are what an explanation goes by. What is not known, or does not apply, is the zero value.
type Facts struct {
	Topic     string `json:"topic"`
	ID        string `json:"id"`
	Key       string `json:"key"`
	Partition int    `json:"partition"`
	// At is when this was looked at, on the clock of Redis.
	At          time.Time `json:"at"`
	State       string    `json:"state"`
	DueAt       time.Time `json:"dueAt"`
	ExpiresAt   time.Time `json:"expiresAt"`
	LeaseEndsAt time.Time `json:"leaseEndsAt"`
	DiedAt      time.Time `json:"diedAt"`
	FinishedAt  time.Time `json:"finishedAt"`
	Outcome     string    `json:"outcome"`
	PublishedAt time.Time `json:"publishedAt"`
	Deliveries  int       `json:"deliveries"`
	Attempts    int       `json:"attempts"`
	// Crashes are deliveries in a row that ended with their lease.
	Crashes int      `json:"crashes"`
	Failure *Failure `json:"failure"`
	// Mark is "cancelled" or "replaced" if that takes effect when the current delivery ends.
	Mark string `json:"mark"`
	// Runner is the process that handles it, or has.
	Runner string `json:"runner"`
	// Before is how many messages of its partition are handed out before it.
	Before    int       `json:"before"`
	BlockedBy string    `json:"blockedBy"`
	Paused    bool      `json:"paused"`
	HeldUntil time.Time `json:"heldUntil"`
	// Limit is "rate" or "inFlight" if it waits for one of these limits.
	Limit string `json:"limit"`
	// Handlers are the processes that live and handle the topic.
	Handlers []string `json:"handlers"`
	// Receivers are those who receive the topic.
	Receivers        []Receiver `json:"receivers"`
	Owner            string     `json:"owner"`
	OwnerAlive       bool       `json:"ownerAlive"`
	OwnerConcurrency int        `json:"ownerConcurrency"`
	OwnerBusy        int        `json:"ownerBusy"`
}

// Receiver is somebody who receives a topic, by the name that [WorkerOptions.Consumer] and [ReceiveOptions.Consumer] give.
type Receiver struct {
	Topic    string `json:"topic"`
	Consumer string `json:"consumer"`
	// State is "busy", "idle" or "gone": it has messages, has asked for some lately, or has not come back.
	State string `json:"state"`
	// Waiting are its calls that wait for messages now; Holding are messages that were received and not settled yet.
	Waiting int `json:"waiting"`
	Holding int `json:"holding"`
	// SeenAt is when it asked for messages last; now, if it waits for some.
	SeenAt time.Time `json:"seenAt"`
	// Processes are those that it receives from.
	Processes []string `json:"processes"`
}

// Explain says why a message has not run, or what became of it. A message that does not exist is explained too.
func (c *Client) Explain(ctx context.Context, topic, id string, options ...LookupOption) (Explanation, error) {
	return send[Explanation](ctx, c, toMessage(http.MethodGet, topic, id, options, "explain"))
}
