package delayqueue

import (
	"context"
	"encoding/json"
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
	ID string
	// Key places the message in a partition, 1 to 256 characters. Default: the id.
	Key string
	// Delay is the time from now until the message is due, up to 10 years. Default: due at once.
	Delay time.Duration
	// DeliverAt is when the message is due; a time in the past is at once. At most one of Delay, DeliverAt and DeliverAtLocal. Default: at once.
	DeliverAt time.Time
	// DeliverAtLocal is when the clocks of a time zone show it. Default: at once.
	DeliverAtLocal *LocalTime
	// Headers are stored with the payload. Default: none.
	Headers map[string]string
	// Tags are words by which the message can be cancelled with others: at most 8, of 1 to 128 characters. Default: none.
	Tags []string
	// Attempts is how many deliveries may fail before the message is a dead letter, 1 to 1000. Default: the topic's.
	Attempts int
	// Backoff is the wait between the attempts. Default: the topic's.
	Backoff *Backoff
	// Timeout is the longest run of one call of a handler in Node.js. Default: the topic's.
	Timeout time.Duration
	// ExpireAfter makes the message a dead letter if it is not delivered within this time after it was due. Default: the topic's.
	ExpireAfter time.Duration
	// OnDuplicate is what happens if the id exists. Default: [Reject].
	OnDuplicate OnDuplicate
	// MaxWait goes with [Replace]: however often it is replaced, the message is due at most this long after the first time. Default: none.
	MaxWait time.Duration
	// Replicas of Redis have to confirm the message. Default: the gateway's.
	Replicas *Replicas
}

// Replicas are how many replicas have to confirm a publish, and for how long it waits for them; if fewer do, it fails with
// [ErrNotReplicated].
type Replicas struct {
	Min     int
	Timeout time.Duration
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
// Errors: [ErrDuplicateMessage], [ErrInvalidArgument], [ErrPayloadTooLarge], [ErrTopicNotServed], [ErrNotReplicated], [ErrUnavailable] …
func (c *Client) Publish(ctx context.Context, topic string, payload any, options *PublishOptions) (Published, error) {
	body, err := outgoingBody(payload, options)
	if err != nil {
		return Published{}, err
	}
	var published Published
	err = c.do(ctx, call{method: http.MethodPost, path: messagesOf(topic), body: body, keyed: true}, &published)
	return published, err
}

// PublishMany stores 1 to 1,000 messages with one request. If some of them are refused, the others are published all the same: then there are
// results, in the order of the messages, and a [*PublishManyError]. With any other error there are no results.
func (c *Client) PublishMany(ctx context.Context, topic string, messages []Outgoing) ([]PublishResult, error) {
	bodies := make([]*wireMessage, len(messages))
	for i, message := range messages {
		body, err := outgoingBody(message.Payload, message.Options)
		if err != nil {
			return nil, err
		}
		bodies[i] = body
	}
	var answer struct {
		Messages []struct {
			Published
			Error *problem `json:"error"`
		} `json:"messages"`
	}
	body := map[string]any{"messages": bodies}
	if err := c.do(ctx, call{method: http.MethodPost, path: messagesOf(topic), body: body, keyed: true}, &answer); err != nil {
		return nil, err
	}
	results := make([]PublishResult, len(answer.Messages))
	refused := false
	for i, one := range answer.Messages {
		results[i].Published = one.Published
		if one.Error != nil {
			results[i].Err = one.Error.toError()
			refused = true
		}
	}
	if refused {
		return results, &PublishManyError{Results: results}
	}
	return results, nil
}

func messagesOf(topic string) []string {
	return []string{"v1", "topics", topic, "messages"}
}

// wireMessage is a message as the gateway takes it.
type wireMessage struct {
	Payload     json.RawMessage   `json:"payload"`
	ID          string            `json:"id,omitempty"`
	Key         string            `json:"key,omitempty"`
	Delay       millis            `json:"delay,omitempty"`
	DeliverAt   any               `json:"deliverAt,omitempty"`
	Headers     map[string]string `json:"headers,omitempty"`
	Tags        []string          `json:"tags,omitempty"`
	Attempts    int               `json:"attempts,omitempty"`
	Backoff     *Backoff          `json:"backoff,omitempty"`
	Timeout     millis            `json:"timeout,omitempty"`
	ExpireAfter millis            `json:"expireAfter,omitempty"`
	OnDuplicate OnDuplicate       `json:"onDuplicate,omitempty"`
	MaxWait     millis            `json:"maxWait,omitempty"`
	Replicas    *wireReplicas     `json:"replicas,omitempty"`
}

type wireReplicas struct {
	Min     int    `json:"min"`
	Timeout millis `json:"timeout"`
}

func outgoingBody(payload any, options *PublishOptions) (*wireMessage, error) {
	encoded, err := encode(payload)
	if err != nil {
		return nil, err
	}
	if options == nil {
		return &wireMessage{Payload: encoded}, nil
	}
	body := &wireMessage{
		Payload:     encoded,
		ID:          options.ID,
		Key:         options.Key,
		Delay:       millis(options.Delay),
		Headers:     options.Headers,
		Tags:        options.Tags,
		Attempts:    options.Attempts,
		Backoff:     options.Backoff,
		Timeout:     millis(options.Timeout),
		ExpireAfter: millis(options.ExpireAfter),
		OnDuplicate: options.OnDuplicate,
		MaxWait:     millis(options.MaxWait),
	}
	if options.DeliverAtLocal != nil && !options.DeliverAt.IsZero() {
		return nil, &Error{Code: CodeInvalidArgument, Detail: "DeliverAt and DeliverAtLocal are both given: leave one of them out"}
	}
	if options.DeliverAtLocal != nil {
		body.DeliverAt = options.DeliverAtLocal
	} else if !options.DeliverAt.IsZero() {
		body.DeliverAt = instant(options.DeliverAt)
	}
	if options.Replicas != nil {
		body.Replicas = &wireReplicas{Min: options.Replicas.Min, Timeout: millis(options.Replicas.Timeout)}
	}
	return body, nil
}
