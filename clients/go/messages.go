package delayqueue

import (
	"context"
	"net/http"
	"net/url"
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

// Explain says why a message has not run, or what became of it. A message that does not exist is explained too.
func (c *Client) Explain(ctx context.Context, topic, id string, options ...LookupOption) (Explanation, error) {
	return send[Explanation](ctx, c, toMessage(http.MethodGet, topic, id, options, "explain"))
}
