package delayqueue

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// suspect finds what may be a number that JavaScript has none like. Texts have it too, so each number has to be looked at then.
var suspect = regexp.MustCompile(`[0-9][0-9.]{15}|-0|[0-9][eE]`)

// checkNumbers refuses what would arrive as another number, and says where in a text of JSON it is.
func checkNumbers(name string, text []byte) error {
	if !suspect.Match(text) {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	at := &position{steps: []step{{name: name}}}
	for {
		token, err := decoder.Token()
		if err != nil {
			return nil // It has ended: the text was written by encoding/json.
		}
		if number, ok := token.(json.Number); ok && !arrives(number.String()) {
			return invalid("the number at %s would arrive as another one, since JavaScript has none like it: give it as text. Given: %s", at, number)
		}
		at.pass(token)
	}
}

// arrives says whether the digits are the same after JavaScript has read and written them.
func arrives(number string) bool {
	value, err := strconv.ParseFloat(number, 64)
	return err == nil && normal(number) == normal(strconv.FormatFloat(value, 'e', -1, 64)) && !(value == 0 && number[0] == '-')
}

// normal writes a number in one way: its digits without zeros at the ends, and how far the first one is from the point.
func normal(number string) string {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	sign := ""
	if strings.HasPrefix(mantissa, "-") {
		sign, mantissa = "-", mantissa[1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	power, _ := strconv.Atoi(exponent)
	digits := strings.TrimLeft(whole+fraction, "0")
	power += len(whole) - (len(whole+fraction) - len(digits))
	if digits = strings.TrimRight(digits, "0"); digits == "" {
		return "0"
	}
	return fmt.Sprintf("%s%se%d", sign, digits, power)
}

// position is where in a value the next token is.
type position struct{ steps []step }

type step struct {
	name   string
	isList bool
	isKey  bool
	index  int
}

func (p *position) pass(token json.Token) {
	last := &p.steps[len(p.steps)-1]
	switch token {
	case json.Delim('{'), json.Delim('['):
		p.steps = append(p.steps, step{isList: token == json.Delim('['), isKey: token == json.Delim('{')})
		return
	case json.Delim('}'), json.Delim(']'):
		p.steps = p.steps[:len(p.steps)-1]
		last = &p.steps[len(p.steps)-1]
	default:
		if key, ok := token.(string); ok && last.isKey {
			last.name, last.isKey = key, false
			return
		}
	}
	// A value is over.
	last.index++
	last.isKey = !last.isList && len(p.steps) > 1
}

func (p *position) String() string {
	path := p.steps[0].name
	for _, one := range p.steps[1:] {
		if one.isList {
			path += fmt.Sprintf("[%d]", one.index)
		} else {
			path += "." + one.name
		}
	}
	return path
}

// decodeExactly is [json.Unmarshal], but a number keeps its digits where no type is given for it.
func decodeExactly(text []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(v)
}
