package delayqueue

import (
	"encoding/json"
	"strconv"
	"time"
)

// millis is a length of time as the gateway has it. Fractions are rounded up: nothing is early.
type millis time.Duration

func (m millis) MarshalJSON() ([]byte, error) {
	length := time.Duration(m)
	whole := length.Truncate(time.Millisecond)
	if whole < length {
		whole += time.Millisecond
	}
	return strconv.AppendInt(nil, whole.Milliseconds(), 10), nil
}

func (m *millis) UnmarshalJSON(text []byte) error {
	var number float64
	if err := json.Unmarshal(text, &number); err != nil {
		return err
	}
	*m = millis(number * float64(time.Millisecond))
	return nil
}

// instant is a time as the gateway has it: with milliseconds, rounded up, in UTC.
type instant time.Time

func (i instant) MarshalJSON() ([]byte, error) {
	at := time.Time(i)
	whole := at.Truncate(time.Millisecond)
	if whole.Before(at) {
		whole = whole.Add(time.Millisecond)
	}
	return strconv.AppendQuote(nil, whole.UTC().Format("2006-01-02T15:04:05.000Z07:00")), nil
}

func optionalInstant(at time.Time) *instant {
	if at.IsZero() {
		return nil
	}
	given := instant(at)
	return &given
}

// LocalTime is when the clocks of a time zone show it.
type LocalTime struct {
	// Local is a date and time without an offset, such as "2026-12-24T18:00".
	Local string `json:"local"`
	// TimeZone is a name of the IANA database, such as "Europe/Berlin".
	TimeZone string `json:"timeZone"`
}

// When is a time from now, or a time of the clock; see [After] and [At].
type When struct {
	Delay     *millis  `json:"delay,omitempty"`
	DeliverAt *instant `json:"deliverAt,omitempty"`
}

// After is so long after now, by the clock of Redis. 0 is at once.
func After(delay time.Duration) When {
	given := millis(delay)
	return When{Delay: &given}
}

// At is a time of the clock; one in the past is at once.
func At(at time.Time) When {
	given := instant(at)
	return When{DeliverAt: &given}
}
