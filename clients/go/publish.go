package delayqueue

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// OnDuplicate is what happens if the id of a message exists.
type OnDuplicate string

const (
	// Reject refuses the message with [ErrDuplicateMessage]. It is the default.
	Reject OnDuplicate = "reject"
	// Ignore leaves the first message as it is.
	Ignore OnDuplicate = "ignore"
	// Replace gives the message the new payload, options and due time: a debounce.
	Replace OnDuplicate = "replace"
	// Earliest leaves the first message as it is, but due at the earlier of both times.
	Earliest OnDuplicate = "earliest"
)

// PublishOptions say how one message is published. Times are on the clock of Redis, so the clock of this machine does not matter. The zero
// value is a message that is due at once, with an id that is made for it.
type PublishOptions struct {
	// ID names the message, 1 to 256 characters. Default: one is made.
	ID string `wire:"id"`
	// Key places the message in a partition, 1 to 256 characters. Default: the id.
	Key string `wire:"key"`
	// Delay is the time from now until the message is due, up to 10 years. Default: due at once.
	Delay time.Duration `wire:"delay"`
	// DeliverAt is when the message is due; a time in the past is at once. At most one of Delay, DeliverAt and DeliverAtLocal. Default: at once.
	DeliverAt time.Time `wire:"deliverAt"`
	// DeliverAtLocal is when the clocks of a time zone show it. Default: at once.
	DeliverAtLocal *LocalTime `wire:"deliverAt"`
	// Headers are stored with the payload. Default: none.
	Headers map[string]string `wire:"headers"`
	// Tags are words by which the message can be cancelled with others: at most 8, of 1 to 128 characters. Default: none.
	Tags []string `wire:"tags"`
	// Attempts is how many deliveries may fail before the message is a dead letter, 1 to 1000. Default: the topic's.
	Attempts int `wire:"attempts"`
	// Backoff is the wait between the attempts. Default: the topic's.
	Backoff *Backoff `wire:"backoff"`
	// Timeout is the longest run of one call of a handler in Node.js. Default: the topic's.
	Timeout time.Duration `wire:"timeout"`
	// ExpireAfter makes the message a dead letter if it is not delivered within this time after it was due. Default: the topic's.
	ExpireAfter time.Duration `wire:"expireAfter"`
	// OnDuplicate is what happens if the id exists. Default: [Reject].
	OnDuplicate OnDuplicate `wire:"onDuplicate"`
	// MaxWait goes with [Replace]: however often it is replaced, the message is due at most this long after the first time. Default: none.
	MaxWait time.Duration `wire:"maxWait"`
	// Replicas of Redis have to confirm the message. Default: the gateway's.
	Replicas *Replicas `wire:"replicas"`
}

// Replicas are how many replicas have to confirm a publish, and for how long it waits for them; if fewer do, it fails with
// [ErrNotReplicated], and the message may exist all the same.
type Replicas struct {
	Min     int           `wire:"min"`
	Timeout time.Duration `wire:"timeout"`
}

// Outgoing is one of several messages to publish. The payload is anything that [json.Marshal] can write.
type Outgoing struct {
	Payload any
	Options *PublishOptions
}

// Published is what became of a message that was published.
type Published struct {
	ID        string `json:"id"`
	Topic     string `json:"topic"`
	Partition int    `json:"partition"`
	// DueAt is when the message that is stored now may be delivered, on the clock of Redis.
	DueAt time.Time `json:"dueAt"`
	// Duplicate says whether the id existed, so that the message was left as it is or replaced.
	Duplicate bool `json:"duplicate"`
}

// PublishResult is what became of one of several messages: Published, or Err if it was refused.
type PublishResult struct {
	Published
	Err error
}

// Publish stores a message; the payload is anything that [json.Marshal] can write, and options may be nil. If the response is lost, the call
// is repeated, and the message exists once.
//
// Errors: [ErrDuplicateMessage], [ErrInvalidArgument], [ErrInvalidPayload], [ErrPayloadTooLarge], [ErrTopicNotServed], [ErrNotReplicated] …
func (c *Client) Publish(ctx context.Context, topic string, payload any, options *PublishOptions) (Published, error) {
	body, err := newMessage(payload, options)
	if err != nil {
		return Published{}, err
	}
	return send[Published](ctx, c, call{method: http.MethodPost, path: messagesOf(topic), body: body, keyed: true})
}

// PublishMany stores 1 to 1,000 messages with one request. If some of them are refused, the others are published all the same: then there are
// results, in the order of the messages, beside the error of the first. With any other error there are no results. If Redis is away for some
// of them, all are sent again, which publishes none twice.
func (c *Client) PublishMany(ctx context.Context, topic string, messages []Outgoing) ([]PublishResult, error) {
	bodies := make([]any, len(messages))
	for i, message := range messages {
		body, err := newMessage(message.Payload, message.Options)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		bodies[i] = body
	}
	given := call{method: http.MethodPost, path: messagesOf(topic), body: map[string]any{"messages": bodies}, keyed: true}
	answer, err := send[publishedMany](ctx, c, given)
	// Once there are results, they are what is known of each message, whatever became of the last try.
	if err != nil && answer.Messages == nil {
		return nil, err
	}
	if len(answer.Messages) != len(messages) {
		return nil, miscounted(len(answer.Messages), len(messages))
	}
	results := make([]PublishResult, len(answer.Messages))
	var first error
	refused := 0
	for i, one := range answer.Messages {
		results[i].Published = one.Published
		if one.Error == nil {
			continue
		}
		results[i].Err = one.Error.toError()
		if refused++; first == nil {
			first = results[i].Err
		}
	}
	if first != nil {
		return results, fmt.Errorf("%d of %d messages were refused; the first one: %w", refused, len(results), first)
	}
	return results, nil
}

type publishedMany struct {
	Messages []struct {
		Published
		Error *problem `json:"error"`
	} `json:"messages"`
}

// failed is the first refusal that may be over if the whole is sent again, under the same key: what is published already stays so.
func (p *publishedMany) failed() *Error {
	for _, one := range p.Messages {
		if one.Error == nil {
			continue
		}
		if refused := one.Error.toError(); refused.Temporary() {
			return refused
		}
	}
	return nil
}

func messagesOf(topic string) []string {
	return []string{"v1", "topics", topic, "messages"}
}

func newMessage(payload any, options *PublishOptions) (map[string]any, error) {
	if options != nil && options.DeliverAtLocal != nil && !options.DeliverAt.IsZero() {
		return nil, invalid("DeliverAt and DeliverAtLocal are both given: leave one of them out")
	}
	return withPayload(payload, options)
}
