package delayqueue

import (
	"bytes"
	"encoding/json"
	"reflect"
	"time"
)

// encode leaves <, > and & as they are: escaped, they would take six bytes each, and payloads have a limit.
func encode(value any) (json.RawMessage, error) {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, &Error{Code: ErrSerialization, Detail: "what is to be sent cannot be written as JSON: " + err.Error(), cause: err}
	}
	return bytes.TrimSuffix(encoded.Bytes(), []byte("\n")), nil
}

// withPayload are the fields of options, and the payload that goes with them.
func withPayload(payload, options any) (map[string]any, error) {
	encoded, err := encode(payload)
	if err != nil {
		return nil, err
	}
	if err := checkNumbers("payload", encoded); err != nil {
		return nil, err
	}
	fields := wire(options).(map[string]any)
	fields["payload"] = encoded
	return fields, nil
}

// wire is what the gateway takes for options of this package: fields that have a tag, without those that are zero. Lengths of time are
// milliseconds, and times have them; both are rounded up, so that nothing is early.
func wire(given any) any {
	switch given := given.(type) {
	case time.Duration:
		return (given + time.Millisecond - 1).Milliseconds()
	case time.Time:
		return given.Add(time.Millisecond - 1).UTC().Format("2006-01-02T15:04:05.000Z07:00")
	}
	value := reflect.ValueOf(given)
	switch value.Kind() {
	case reflect.Pointer:
		if value.IsNil() {
			return map[string]any{}
		}
		return wire(value.Elem().Interface())
	case reflect.Slice:
		items := make([]any, value.Len())
		for i := range items {
			items[i] = wire(value.Index(i).Interface())
		}
		return items
	case reflect.Struct:
		fields := map[string]any{}
		for i := 0; i < value.NumField(); i++ {
			if name := value.Type().Field(i).Tag.Get("wire"); name != "" && !value.Field(i).IsZero() {
				fields[name] = wire(value.Field(i).Interface())
			}
		}
		return fields
	default:
		return given
	}
}

// millis reads a length of time as the gateway writes it.
type millis time.Duration

func (m *millis) UnmarshalJSON(text []byte) error {
	var number float64
	err := json.Unmarshal(text, &number)
	*m = millis(number * float64(time.Millisecond))
	return err
}

// When is a time from now, or a time of the clock; see [After], [At] and [AtLocal].
type When struct {
	name  string
	value any
}

// After is so long after now, by the clock of Redis. 0 is at once.
func After(delay time.Duration) When { return When{"delay", delay} }

// At is a time of the clock; one in the past is at once.
func At(at time.Time) When { return When{"deliverAt", at} }

// AtLocal is when the clocks of a time zone show it.
func AtLocal(at LocalTime) When { return When{"deliverAt", at} }

// Backoff is how long a message waits between its attempts; [FixedBackoff], [ExponentialBackoff] and [StepsBackoff] make one.
type Backoff struct {
	// Kind is "fixed", "exponential" or "steps". The last one has Delays, the others a Delay.
	Kind   string          `wire:"type"`
	Delay  *time.Duration  `wire:"delay"`
	Delays []time.Duration `wire:"delays"`
	// Factor multiplies the wait each time, 1 to 10; only of an exponential backoff. Default: 2.
	Factor float64 `wire:"factor"`
	// MaxDelay is the longest wait; only of an exponential backoff. Default: 5 min.
	MaxDelay time.Duration `wire:"maxDelay"`
	// Jitter is the share of the wait, 0 to 1, up to which a random time is added; not of a fixed backoff. Default: 0.
	Jitter float64 `wire:"jitter"`
}

// FixedBackoff waits the same time before each attempt.
func FixedBackoff(delay time.Duration) *Backoff {
	return &Backoff{Kind: "fixed", Delay: &delay}
}

// ExponentialBackoff waits so long before the second attempt, and longer each time. Set Factor, MaxDelay and Jitter on what it returns.
func ExponentialBackoff(delay time.Duration) *Backoff {
	return &Backoff{Kind: "exponential", Delay: &delay}
}

// StepsBackoff waits the first time before the second attempt, the second one before the third, and so on; the last one repeats.
func StepsBackoff(delays ...time.Duration) *Backoff {
	return &Backoff{Kind: "steps", Delays: delays}
}
