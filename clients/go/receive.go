package delayqueue

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// ReceiveOptions say how messages are received. The zero value asks for one message that is due now.
type ReceiveOptions struct {
	// Max is the most messages, 1 to 200. Default: 1.
	Max int
	// Wait is the longest time to wait for the first message. Default: none, only what is due now.
	Wait time.Duration
	// Lease is for how long the messages belong to whoever receives them, at least 1 s; then they come again, unless they were settled, or their
	// lease was extended. Default: the gateway's.
	Lease time.Duration
	// AtMostOnce takes messages without a lease: they are gone when they are received, and there is nothing to settle.
	AtMostOnce bool
}

// Message is a message as its receiver has it, for the time of its lease.
type Message struct {
	ID        string            `json:"id"`
	Topic     string            `json:"topic"`
	Partition int               `json:"partition"`
	Key       string            `json:"key"`
	Payload   json.RawMessage   `json:"payload"`
	Headers   map[string]string `json:"headers"`
	// Attempt is 1 for the first.
	Attempt     int       `json:"attempt"`
	MaxAttempts int       `json:"maxAttempts"`
	PublishedAt time.Time `json:"publishedAt"`
	DueAt       time.Time `json:"dueAt"`
	// LeaseEndsAt is on the clock of Redis; the zero time if the message was taken at most once.
	LeaseEndsAt time.Time `json:"leaseEndsAt"`
	// Receipt proves that the message is its receiver's. Any process can settle it with [Client.Settle].
	Receipt string `json:"receipt"`

	client *Client
}

// Receive waits until a topic has messages that are due, and takes as many as are wanted at most. Without any after [ReceiveOptions.Wait] it
// returns none. Options may be nil. If the response is lost, what it carried comes again when its lease ends.
func (c *Client) Receive(ctx context.Context, topic string, options *ReceiveOptions) ([]*Message, error) {
	return c.receive(ctx, call{path: []string{"v1", "topics", topic, "receive"}}, nil, options)
}

// ReceiveFrom is [Client.Receive] for several topics: as long as an earlier one has messages that are due, a later one waits.
func (c *Client) ReceiveFrom(ctx context.Context, topics []string, options *ReceiveOptions) ([]*Message, error) {
	return c.receive(ctx, call{path: []string{"v1", "receive"}}, topics, options)
}

// receive has no idempotency key: what it takes belongs to whoever gets the answer.
func (c *Client) receive(ctx context.Context, given call, topics []string, options *ReceiveOptions) ([]*Message, error) {
	var wanted ReceiveOptions
	if options != nil {
		wanted = *options
	}
	if wanted.AtMostOnce && wanted.Lease != 0 {
		return nil, &Error{Code: CodeInvalidArgument, Detail: "AtMostOnce and Lease are both given: leave one of them out"}
	}
	body := map[string]any{"wait": millis(wanted.Wait)}
	if wanted.Max != 0 {
		body["max"] = wanted.Max
	}
	if wanted.AtMostOnce || wanted.Lease != 0 {
		body["lease"] = millis(wanted.Lease)
	}
	if topics != nil {
		body["topics"] = topics
	}
	given.method, given.body, given.wait = http.MethodPost, body, wanted.Wait
	var answer struct {
		Messages []*Message `json:"messages"`
	}
	if err := c.do(ctx, given, &answer); err != nil {
		return nil, err
	}
	for _, message := range answer.Messages {
		message.client = c
	}
	return answer.Messages, nil
}

// Decode reads the payload into v, as [json.Unmarshal] does.
func (m *Message) Decode(v any) error {
	return json.Unmarshal(m.Payload, v)
}

// Ack says that the message is handled.
func (m *Message) Ack(ctx context.Context) (SettleStatus, error) {
	return m.settle(ctx, Settlement{Outcome: Ack})
}

// Retry says that the attempt has failed: the message comes again by its backoff, or becomes a dead letter after its last attempt. The reason
// is kept in its history; it may be empty.
func (m *Message) Retry(ctx context.Context, reason string) (SettleStatus, error) {
	return m.settle(ctx, Settlement{Outcome: Retry, Reason: reason})
}

// RetryAfter is [Message.Retry] with a delay in place of the backoff.
func (m *Message) RetryAfter(ctx context.Context, delay time.Duration, reason string) (SettleStatus, error) {
	return m.settle(ctx, Settlement{Outcome: Retry, Delay: &delay, Reason: reason})
}

// Dead gives the message up: it becomes a dead letter, with the reason.
func (m *Message) Dead(ctx context.Context, reason string) (SettleStatus, error) {
	return m.settle(ctx, Settlement{Outcome: Dead, Reason: reason})
}

// Release gives the message back: it comes again at once, and no attempt is spent.
func (m *Message) Release(ctx context.Context) (SettleStatus, error) {
	return m.settle(ctx, Settlement{Outcome: Release})
}

// Extend makes the lease end so long after now, at least 1 s.
func (m *Message) Extend(ctx context.Context, lease time.Duration) (ExtendStatus, error) {
	results, err := m.client.Extend(ctx, Extension{Receipt: m.Receipt, Lease: lease})
	if err != nil {
		return "", err
	}
	return results[0].Status, nil
}

func (m *Message) settle(ctx context.Context, settlement Settlement) (SettleStatus, error) {
	settlement.Receipt = m.Receipt
	results, err := m.client.Settle(ctx, settlement)
	if err != nil {
		return "", err
	}
	return results[0].Status, nil
}
