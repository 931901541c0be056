package delayqueue

import (
	"context"
	"net/http"
	"time"
)

// ReceiveOptions say how messages are received. The zero value asks for one message that is due now.
type ReceiveOptions struct {
	// Max is the most messages, 1 to 200. Default: 1.
	Max int `wire:"max"`
	// Wait is the longest time to wait for the first message, at most 60 s; a negative one, as of [time.Until], is none. Default: none, only what is
	// due now.
	Wait time.Duration `wire:"wait"`
	// Lease is for how long the messages belong to whoever receives them, at least 1 s; then they come again, unless they were settled, or their
	// lease was extended. Default: the gateway's.
	Lease time.Duration `wire:"lease"`
	// Consumer names who receives, for those who look at the fleet, 1 to 128 characters. Default: the gateway names it.
	Consumer string `wire:"consumer"`
	// AtMostOnce takes messages without a lease: they are gone when they are received, and there is nothing to settle. Default: false.
	AtMostOnce bool
}

// Receive waits until one of the topics has messages that are due, and takes as many as are wanted at most: as long as an earlier topic has
// some, a later one waits. Without any after [ReceiveOptions.Wait] it returns none, and earlier if the gateway shuts down. If the response is
// lost, what it carried comes again when its lease ends; at most once it is gone. A message whose payload is nested deeper than encoding/json
// reads, 10,000 levels, is not returned: it becomes a dead letter.
func (c *Client) Receive(ctx context.Context, options ReceiveOptions, topics ...string) ([]*Message, error) {
	messages, _, err := c.receive(ctx, 0, options, topics)
	return messages, err
}

// tooDeep is why a message is given up whose payload this language cannot read.
const tooDeep = "Its payload is nested deeper than Go can read."

// receive has no idempotency key: what it takes belongs to whoever gets the answer. What cannot be read it gives up, and returns beside the others.
func (c *Client) receive(ctx context.Context, retryFor time.Duration, options ReceiveOptions, topics []string) (messages, unreadable []*Message, err error) {
	if options.AtMostOnce && options.Lease != 0 {
		return nil, nil, invalid("AtMostOnce and Lease are both given: leave one of them out")
	}
	if options.Wait < 0 {
		options.Wait = 0
	}
	body := wire(options).(map[string]any)
	body["topics"] = topics
	if options.AtMostOnce {
		body["lease"] = 0
	}
	given := call{method: http.MethodPost, path: []string{"v1", "receive"}, body: body, wait: options.Wait, retryFor: retryFor}
	answer, err := send[received](ctx, c, given)
	if err != nil {
		return nil, nil, err
	}
	for _, message := range answer.Messages {
		message.client = c
	}
	var settlements []Settlement
	for _, message := range answer.unreadable {
		if message.Lease > 0 {
			settlements = append(settlements, Settlement{Receipt: message.Receipt, Outcome: Dead, Reason: tooDeep})
		}
	}
	if len(settlements) > 0 {
		// Those that cannot be settled come again: the others must not suffer.
		_, _ = c.Settle(ctx, settlements...)
	}
	return answer.Messages, answer.unreadable, nil
}

// Decode reads the payload into v, as [json.Unmarshal] does. A number of which v does not say the type is a [json.Number], so that it keeps its
// digits.
func (m *Message) Decode(v any) error {
	return decodeExactly(m.Payload, v)
}

// Ack says that the message is handled.
func (m *Message) Ack(ctx context.Context) (Status, error) {
	return m.settle(ctx, Settlement{Outcome: Ack})
}

// Retry says that the attempt has failed: the message comes again by its backoff, or becomes a dead letter after its last attempt. The reason
// is kept in its history; it may be empty.
func (m *Message) Retry(ctx context.Context, reason string) (Status, error) {
	return m.settle(ctx, Settlement{Outcome: Retry, Reason: reason})
}

// RetryAfter is [Message.Retry] with a delay in place of the backoff.
func (m *Message) RetryAfter(ctx context.Context, delay time.Duration, reason string) (Status, error) {
	return m.settle(ctx, Settlement{Outcome: Retry, Delay: &delay, Reason: reason})
}

// Dead gives the message up: it becomes a dead letter, with the reason.
func (m *Message) Dead(ctx context.Context, reason string) (Status, error) {
	return m.settle(ctx, Settlement{Outcome: Dead, Reason: reason})
}

// Release gives the message back: it comes again at once, and no attempt is spent.
func (m *Message) Release(ctx context.Context) (Status, error) {
	return m.settle(ctx, Settlement{Outcome: Release})
}

// ReleaseFor is [Message.Release] with a delay until the message comes again.
func (m *Message) ReleaseFor(ctx context.Context, delay time.Duration) (Status, error) {
	return m.settle(ctx, Settlement{Outcome: Release, Delay: &delay})
}

func (m *Message) settle(ctx context.Context, settlement Settlement) (Status, error) {
	settlement.Receipt = m.Receipt
	return only(m.client.Settle(ctx, settlement))
}

// Extend makes the lease end so long after now, at least 1 s.
func (m *Message) Extend(ctx context.Context, lease time.Duration) (Status, error) {
	return only(m.client.Extend(ctx, Extension{Receipt: m.Receipt, Lease: lease}))
}
