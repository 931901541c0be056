package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	delayqueue "nestjs-delay-queue/clients/go"
)

// environment is what clients/BEHAVIOUR.md says that tests are given.
type environment struct {
	url, token, readToken, lossyURL, awayURL, brokenURL, oddURL, untrustedURL, topicPrefix string
}

func readEnvironment() (environment, error) {
	var missing []string
	get := func(name string) string {
		value := os.Getenv(name)
		if value == "" {
			missing = append(missing, name)
		}
		return value
	}
	given := environment{
		url:          get("GATEWAY_URL"),
		token:        get("GATEWAY_TOKEN"),
		readToken:    get("GATEWAY_READ_TOKEN"),
		lossyURL:     get("GATEWAY_LOSSY_URL"),
		awayURL:      get("GATEWAY_AWAY_URL"),
		brokenURL:    get("GATEWAY_BROKEN_URL"),
		oddURL:       get("GATEWAY_ODD_URL"),
		untrustedURL: get("GATEWAY_UNTRUSTED_URL"),
		topicPrefix:  get("GATEWAY_TOPIC_PREFIX"),
	}
	if len(missing) > 0 {
		return given, fmt.Errorf("the environment lacks %s; clients/BEHAVIOUR.md says what they are", strings.Join(missing, ", "))
	}
	return given, nil
}

// patience is for what comes much sooner, unless the machine has other things to do.
const patience = time.Minute

// failure ends a trial; it says why.
type failure string

// trial is one behaviour with a topic of its own. Ids have a name of this run in them, so that what an earlier run has left behind is
// recognized.
type trial struct {
	ctx    context.Context
	given  environment
	client *delayqueue.Client
	topic  string
	run    string
}

func newTrial(ctx context.Context, given environment, number string) *trial {
	t := &trial{ctx: ctx, given: given, topic: given.topicPrefix + "." + strings.TrimPrefix(number, "B"), run: randomName()}
	t.client = t.connect(given.url, given.token)
	return t
}

func (t *trial) connect(url, token string) *delayqueue.Client {
	return must(delayqueue.New(url, delayqueue.Options{Token: token}))
}

func (t *trial) id(name string) string {
	return name + " " + t.run
}

func fail(format string, values ...any) {
	panic(failure(strings.ReplaceAll(fmt.Sprintf(format, values...), "\n", " ")))
}

func must[T any](value T, err error) T {
	if err != nil {
		fail("%v", err)
	}
	return value
}

func expect(holds bool, format string, values ...any) {
	if !holds {
		fail(format, values...)
	}
}

func same[T comparable](what string, got, expected T) {
	expect(got == expected, "%s: got %v, expected %v", what, got, expected)
}

func expectError(what string, err error, code delayqueue.Code, status int) {
	var told *delayqueue.Error
	expect(errors.As(err, &told) && errors.Is(err, code), "%s: got %v, expected %s", what, err, code)
	expect(told.Status == status && told.Detail != "", "%s: got %d, %q, expected %d and a detail", what, told.Status, told.Detail, status)
}

func sameJSON(what string, got json.RawMessage, expected any) {
	var a, b any
	expect(json.Unmarshal(got, &a) == nil, "%s is no JSON: %.100s", what, got)
	_ = json.Unmarshal(must(json.Marshal(expected)), &b)
	expect(reflect.DeepEqual(a, b), "%s: got %.100s, expected %.100v", what, got, expected)
}

// publish publishes a message with an id of this run, if it is given none.
func (t *trial) publish(payload any, options delayqueue.PublishOptions) delayqueue.Published {
	if options.ID == "" {
		options.ID = t.id("m-" + randomName())
	}
	return must(t.client.Publish(t.ctx, t.topic, payload, &options))
}

// receive gives what belongs to this run, and acknowledges what an earlier one has left behind.
func (t *trial) receive(options delayqueue.ReceiveOptions, topics ...string) []*delayqueue.Message {
	if len(topics) == 0 {
		topics = []string{t.topic}
	}
	var own []*delayqueue.Message
	for _, message := range must(t.client.Receive(t.ctx, options, topics...)) {
		if strings.Contains(message.ID, t.run) {
			own = append(own, message)
		} else if !options.AtMostOnce {
			must(message.Ack(t.ctx))
		}
	}
	return own
}

// next waits for one message.
func (t *trial) next(lease time.Duration, topics ...string) *delayqueue.Message {
	for end := time.Now().Add(patience); time.Now().Before(end); {
		own := t.receive(delayqueue.ReceiveOptions{Wait: 5 * time.Second, Lease: lease}, topics...)
		if len(own) > 0 {
			return own[0]
		}
	}
	fail("nothing was received within %v", patience)
	return nil
}

// none sees that nothing is received for so long.
func (t *trial) none(length time.Duration) {
	for end := time.Now().Add(length); time.Now().Before(end); {
		for _, message := range t.receive(delayqueue.ReceiveOptions{Wait: time.Until(end)}) {
			fail("message %q came, attempt %d, though nothing was to come", message.ID, message.Attempt)
		}
	}
}

func (t *trial) ack(message *delayqueue.Message) {
	same("the ack", must(message.Ack(t.ctx)), delayqueue.StatusSettled)
}

// gone sees that a message does not exist any more.
func (t *trial) gone(id string) {
	_, err := t.client.Get(t.ctx, t.topic, id)
	expectError("a message that is gone", err, delayqueue.ErrMessageNotFound, 404)
}

func eventually(what string, is func() bool) {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if is() {
			return
		}
	}
	fail("not within %v: %s", patience, what)
}
