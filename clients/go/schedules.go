package delayqueue

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// CatchUp is what becomes of the occurrences of an outage, once somebody is there again to publish them.
type CatchUp string

const (
	CatchUpNone   CatchUp = "none"
	CatchUpLatest CatchUp = "latest"
	CatchUpAll    CatchUp = "all"
)

// Overlap is whether an occurrence is published while an earlier one waits, runs or retries.
type Overlap string

const (
	OverlapAllow Overlap = "allow"
	OverlapSkip  Overlap = "skip"
)

// ScheduleRule is a rule that publishes a message again and again: either Every so often, or at the times of a Cron expression.
type ScheduleRule struct {
	Topic string
	// Payload is anything that [json.Marshal] can write.
	Payload any
	// Every is the time from one occurrence to the next, at least 100 ms.
	Every time.Duration
	// Cron is an expression of five fields, or of six, the first of which are the seconds; or "@hourly", "@daily" and the like.
	Cron string
	// TimeZone is that of Cron, a name of the IANA database. Default: UTC.
	TimeZone string
	// StartAt is before all occurrences; with Every it is the first one. Default: one interval after the schedule was first stored.
	StartAt time.Time
	// EndAt is after all occurrences. Default: it never ends.
	EndAt time.Time
	// CatchUp. Default: [CatchUpLatest].
	CatchUp CatchUp
	// Overlap. Default: [OverlapAllow].
	Overlap Overlap
	// Options of its messages. Default: none.
	Options *ScheduledMessageOptions
}

// ScheduledMessageOptions say how the messages of a schedule are published.
type ScheduledMessageOptions struct {
	// Key of all its messages. It cannot be changed later. Default: the id of the schedule.
	Key         string
	Headers     map[string]string
	Tags        []string
	Attempts    int
	Backoff     *Backoff
	Timeout     time.Duration
	ExpireAfter time.Duration
}

// Schedule is a schedule as it is stored. What does not apply is the zero value.
type Schedule struct {
	ID        string
	Topic     string
	Partition int
	Key       string
	Payload   json.RawMessage
	Headers   map[string]string
	Every     time.Duration
	Cron      string
	TimeZone  string
	StartAt   time.Time
	EndAt     time.Time
	CatchUp   CatchUp
	Overlap   Overlap
	Paused    bool
	// Declared says whether a handler in Node.js declares it.
	Declared bool
	// Next is when its next occurrence is; the zero time if it is paused, or has ended.
	Next time.Time
	// Last is its latest occurrence that was published; the zero time before the first.
	Last time.Time
	// Missed counts the occurrences that were not published, because of an outage or since an earlier one was not over.
	Missed int
}

// UnmarshalJSON reads what the gateway writes: Every is in milliseconds there.
func (s *Schedule) UnmarshalJSON(text []byte) error {
	type plain Schedule
	wire := struct {
		*plain
		Every millis `json:"every"`
	}{plain: (*plain)(s)}
	if err := json.Unmarshal(text, &wire); err != nil {
		return err
	}
	s.Every = time.Duration(wire.Every)
	return nil
}

// Schedules are rules that publish messages again and again. Each occurrence is published once, whichever processes live.
type Schedules struct {
	client *Client
}

// Schedules gives access to the schedules of the topics that the gateway serves.
func (c *Client) Schedules() *Schedules {
	return &Schedules{client: c}
}

// List has the schedules of a topic, or with "" those of all topics that this client may look at, in the order of their ids.
func (s *Schedules) List(ctx context.Context, topic string) ([]Schedule, error) {
	query := url.Values{}
	if topic != "" {
		query.Set("topic", topic)
	}
	var answer struct {
		Schedules []Schedule `json:"schedules"`
	}
	err := s.client.do(ctx, call{method: http.MethodGet, path: []string{"v1", "schedules"}, query: query}, &answer)
	return answer.Schedules, err
}

// Get looks a schedule up. Errors: [ErrNotFound] …
func (s *Schedules) Get(ctx context.Context, id string) (Schedule, error) {
	var schedule Schedule
	err := s.client.do(ctx, call{method: http.MethodGet, path: scheduleOf(id)}, &schedule)
	return schedule, err
}

// Put stores a schedule, or gives the one with this id another rule, payload or options. What is the same already changes nothing, so every
// process may do it whenever it starts. One that is paused stays so.
func (s *Schedules) Put(ctx context.Context, id string, rule ScheduleRule) (Schedule, error) {
	body, err := scheduleBody(rule)
	if err != nil {
		return Schedule{}, err
	}
	var schedule Schedule
	err = s.client.do(ctx, call{method: http.MethodPut, path: scheduleOf(id), body: body, keyed: true}, &schedule)
	return schedule, err
}

// Pause makes a schedule publish nothing until [Schedules.Resume]. Errors: [ErrNotFound] …
func (s *Schedules) Pause(ctx context.Context, id string) error {
	return s.act(ctx, http.MethodPost, scheduleOf(id, "pause"), nil)
}

// Resume makes a schedule go on with its next occurrence. Errors: [ErrNotFound] …
func (s *Schedules) Resume(ctx context.Context, id string) error {
	return s.act(ctx, http.MethodPost, scheduleOf(id, "resume"), nil)
}

// Run publishes the message of a schedule now, beside its occurrences, even if it is paused. Errors: [ErrNotFound] …
func (s *Schedules) Run(ctx context.Context, id string) (Published, error) {
	var published Published
	err := s.act(ctx, http.MethodPost, scheduleOf(id, "run"), &published)
	return published, err
}

// Remove removes a schedule. What it has published stays. Errors: [ErrNotFound] …
func (s *Schedules) Remove(ctx context.Context, id string) error {
	return s.act(ctx, http.MethodDelete, scheduleOf(id), nil)
}

func (s *Schedules) act(ctx context.Context, method string, path []string, answer any) error {
	if answer == nil {
		answer = &struct{}{}
	}
	return s.client.do(ctx, call{method: method, path: path, keyed: true}, answer)
}

func scheduleOf(id string, action ...string) []string {
	return append([]string{"v1", "schedules", id}, action...)
}

type wireSchedule struct {
	Topic    string                `json:"topic"`
	Payload  json.RawMessage       `json:"payload"`
	Every    millis                `json:"every,omitempty"`
	Cron     string                `json:"cron,omitempty"`
	TimeZone string                `json:"timeZone,omitempty"`
	StartAt  *instant              `json:"startAt,omitempty"`
	EndAt    *instant              `json:"endAt,omitempty"`
	CatchUp  CatchUp               `json:"catchUp,omitempty"`
	Overlap  Overlap               `json:"overlap,omitempty"`
	Options  *wireScheduledOptions `json:"options,omitempty"`
}

type wireScheduledOptions struct {
	Key         string            `json:"key,omitempty"`
	Headers     map[string]string `json:"headers,omitempty"`
	Tags        []string          `json:"tags,omitempty"`
	Attempts    int               `json:"attempts,omitempty"`
	Backoff     *Backoff          `json:"backoff,omitempty"`
	Timeout     millis            `json:"timeout,omitempty"`
	ExpireAfter millis            `json:"expireAfter,omitempty"`
}

func scheduleBody(rule ScheduleRule) (*wireSchedule, error) {
	payload, err := encode(rule.Payload)
	if err != nil {
		return nil, err
	}
	body := &wireSchedule{
		Topic:    rule.Topic,
		Payload:  payload,
		Every:    millis(rule.Every),
		Cron:     rule.Cron,
		TimeZone: rule.TimeZone,
		StartAt:  optionalInstant(rule.StartAt),
		EndAt:    optionalInstant(rule.EndAt),
		CatchUp:  rule.CatchUp,
		Overlap:  rule.Overlap,
	}
	if options := rule.Options; options != nil {
		body.Options = &wireScheduledOptions{
			Key:         options.Key,
			Headers:     options.Headers,
			Tags:        options.Tags,
			Attempts:    options.Attempts,
			Backoff:     options.Backoff,
			Timeout:     millis(options.Timeout),
			ExpireAfter: millis(options.ExpireAfter),
		}
	}
	return body, nil
}
