package delayqueue

import (
	"encoding/json"
	"strings"
)

// received is the answer to a receive.
type received struct {
	Messages []*Message `json:"messages"`
	// unreadable have a payload that is nested deeper than encoding/json reads.
	unreadable []*Message
}

// readApart reads each message by itself, if one keeps the whole from being read.
func (r *received) readApart(content []byte, cause error) error {
	if !strings.Contains(cause.Error(), "exceeded max depth") {
		return cause
	}
	*r = received{}
	for _, one := range split(content) {
		message := &Message{}
		if json.Unmarshal(one.text, message) == nil {
			r.Messages = append(r.Messages, message)
			continue
		}
		if err := json.Unmarshal(one.withoutPayload(), message); err != nil {
			return err
		}
		r.unreadable = append(r.unreadable, message)
	}
	return nil
}

// part is one message of an answer, and where in it its deepest value is, which is its payload.
type part struct {
	text       []byte
	begin, end int
}

func (p part) withoutPayload() []byte {
	return append(append(append([]byte(nil), p.text[:p.begin]...), "null"...), p.text[p.end:]...)
}

// depthOfMessage is how deep the object of a message is in the answer to a receive.
const depthOfMessage = 3

func split(content []byte) (parts []part) {
	var depth, deepest, start, inner, most int
	var current part
	for i := 0; i < len(content); i++ {
		switch content[i] {
		case '"':
			for i++; i < len(content) && content[i] != '"'; i++ {
				if content[i] == '\\' {
					i++
				}
			}
		case '[', '{':
			depth++
			switch {
			case depth == depthOfMessage:
				start, most, current = i, 0, part{}
			case depth == depthOfMessage+1:
				inner, deepest = i, depth
			case depth > deepest:
				deepest = depth
			}
		case ']', '}':
			depth--
			switch {
			case depth == depthOfMessage && deepest > most:
				most, current.begin, current.end = deepest, inner-start, i+1-start
			case depth == depthOfMessage-1:
				current.text = content[start : i+1]
				parts = append(parts, current)
			}
		}
	}
	return parts
}
