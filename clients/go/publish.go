package delayqueue

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// Outgoing is one of several messages to publish. The payload is anything that [json.Marshal] can write.
type Outgoing struct {
	Payload any
	Options *PublishOptions
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
	Messages []publishedOrNot `json:"messages"`
}

type publishedOrNot struct {
	Published Published
	Error     *problem
}

// UnmarshalJSON reads both by themselves: if the first one had a way of its own to be read, embedding it would leave the second one out.
func (p *publishedOrNot) UnmarshalJSON(text []byte) error {
	var refused struct {
		Error *problem `json:"error"`
	}
	if err := json.Unmarshal(text, &refused); err != nil {
		return err
	}
	p.Error = refused.Error
	return json.Unmarshal(text, &p.Published)
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
