package delayqueue

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Schedules are rules that publish messages again and again. Each occurrence is published once, whichever processes live.
type Schedules struct {
	client *Client
}

// Schedules gives access to the schedules of the topics that the gateway serves.
func (c *Client) Schedules() *Schedules {
	return &Schedules{client: c}
}

// FailedSchedules are those of a topic that cannot be told now.
type FailedSchedules struct {
	Topic string
	IDs   []string
	Err   error
}

// ListSchedulesError says that the schedules of some topics cannot be told now. [errors.Is] finds why it is so for the first of them.
type ListSchedulesError struct{ Failed []FailedSchedules }

func (e *ListSchedulesError) Error() string {
	topics := make([]string, len(e.Failed))
	for i, one := range e.Failed {
		topics[i] = one.Topic
	}
	return fmt.Sprintf("schedules of %s cannot be told now: %v", strings.Join(topics, ", "), e.Failed[0].Err)
}

func (e *ListSchedulesError) Unwrap() error { return e.Failed[0].Err }

// List has the schedules of a topic, or with "" those of all topics that this client may look at, in the order of their ids. With a
// [ListSchedulesError] it has those of the other topics.
func (s *Schedules) List(ctx context.Context, topic string) ([]Schedule, error) {
	query := url.Values{}
	if topic != "" {
		query.Set("topic", topic)
	}
	type schedules struct {
		Schedules []Schedule `json:"schedules"`
		// A gateway of version 0.1 has none: it refuses all if it cannot tell some.
		Failed []struct {
			Topic string   `json:"topic"`
			IDs   []string `json:"ids"`
			Error problem  `json:"error"`
		} `json:"failed"`
	}
	answer, err := send[schedules](ctx, s.client, call{method: http.MethodGet, path: []string{"v1", "schedules"}, query: query})
	if err != nil || len(answer.Failed) == 0 {
		return answer.Schedules, err
	}
	var untold ListSchedulesError
	for _, one := range answer.Failed {
		untold.Failed = append(untold.Failed, FailedSchedules{one.Topic, one.IDs, one.Error.toError()})
	}
	return answer.Schedules, &untold
}

func toSchedule(method, id string, action ...string) call {
	return call{method: method, path: append([]string{"v1", "schedules", id}, action...)}
}

// Get looks a schedule up. Errors: [ErrScheduleNotFound] …
func (s *Schedules) Get(ctx context.Context, id string) (Schedule, error) {
	return send[Schedule](ctx, s.client, toSchedule(http.MethodGet, id))
}

// Put stores a schedule, or gives the one with this id another rule, payload or options. What is the same already changes nothing, so every
// process may do it whenever it starts. One that is paused stays so.
func (s *Schedules) Put(ctx context.Context, id string, rule ScheduleRule) (Schedule, error) {
	body, err := withPayload(rule.Payload, rule)
	if err != nil {
		return Schedule{}, err
	}
	given := toSchedule(http.MethodPut, id)
	given.body = body
	return send[Schedule](ctx, s.client, given)
}

// Pause makes a schedule publish nothing until [Schedules.Resume]. Errors: [ErrScheduleNotFound] …
func (s *Schedules) Pause(ctx context.Context, id string) (Schedule, error) {
	return s.change(ctx, id, "pause")
}

// Resume makes a schedule go on with its next occurrence. Errors: [ErrScheduleNotFound] …
func (s *Schedules) Resume(ctx context.Context, id string) (Schedule, error) {
	return s.change(ctx, id, "resume")
}

func (s *Schedules) change(ctx context.Context, id, action string) (Schedule, error) {
	given := toSchedule(http.MethodPost, id, action)
	given.keyed = true
	return send[Schedule](ctx, s.client, given)
}

// Run publishes the message of a schedule now, beside its occurrences, even if it is paused. If the response is lost, the call is repeated,
// and there is one message. Errors: [ErrScheduleNotFound] …
func (s *Schedules) Run(ctx context.Context, id string) (Published, error) {
	given := toSchedule(http.MethodPost, id, "run")
	given.keyed = true
	return send[Published](ctx, s.client, given)
}

// Remove removes a schedule. What it has published stays. Errors: [ErrScheduleNotFound], also if the response to the first try was lost, …
func (s *Schedules) Remove(ctx context.Context, id string) error {
	_, err := send[struct{}](ctx, s.client, toSchedule(http.MethodDelete, id))
	return err
}
