package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gormflake/gormflake/types"
)

// An interpreter finds out which ID a text stands for.
type interpreter struct {
	reader
	as          form     // the zero form finds out which
	first, last types.ID // the IDs that a text of unknown form may stand for
}

// A reading is what a text means in one form.
type reading struct {
	form form
	id   types.ID
}

// read returns one reading, or all of several that are equally likely.
func (in *interpreter) read(s string) ([]reading, error) {
	s = strings.TrimSpace(s)
	if in.as.name != "" {
		return in.readAs(in.as, s)
	}
	if isDigits(s) {
		return in.readAs(decimal, s)
	}
	if in.serial != nil {
		if id, err := in.serial.Parse(s); err == nil {
			return []reading{{form{name: serialName}, id}}, nil
		}
	}
	return in.guess(s)
}

func (in *interpreter) readAs(f form, s string) ([]reading, error) {
	id, err := f.parse(s)
	if err != nil {
		return nil, err
	}
	switch largest := in.layout.Max(in.layout.Expires()); {
	case id == 0:
		return nil, errors.New("0 is no ID: it stands for one that is not assigned yet")
	case id > largest:
		return nil, fmt.Errorf("%s is too large: want at most %v, the last ID of the layout", s, largest)
	}
	return []reading{{f, id}}, nil
}

func (in *interpreter) guess(s string) ([]reading, error) {
	var likely []reading
	known := false
	for _, f := range plainForms[1:] {
		id, err := f.parse(s)
		known = known || err == nil
		if err == nil && in.likely(id) {
			likely = append(likely, reading{f, id})
		}
	}
	switch {
	case len(likely) > 0:
		return likely, nil
	case known:
		return nil, fmt.Errorf("%s is no ID with a time from %s to %s: say with --as which form it has, or with --layout of which layout it is",
			quote(s), in.layout.Time(in.first).Format(milliseconds), in.layout.Time(in.last).Format(milliseconds))
	}
	return nil, fmt.Errorf("%s is no ID: want decimal, base32, base58 or base62, or a serial number with --code", quote(s))
}

func (in *interpreter) likely(id types.ID) bool { return id >= in.first && id <= in.last }

func (in *interpreter) ambiguous(s string, readings []reading) error {
	var texts []string
	for _, r := range readings {
		texts = append(texts, fmt.Sprintf("%v of %s as %s", r.id, in.layout.Time(r.id).Format(milliseconds), r.form.name))
	}
	return fmt.Errorf("%s is ambiguous: %s: say which with --as", quote(s), strings.Join(texts, ", "))
}

// find reads a word of a text. It does not allocate for words that are no ID,
// as most are.
func (in *interpreter) find(word []byte) (reading, bool) {
	if in.as.name != "" && in.as.name != decimal.name {
		id, err := in.as.parse(string(word))
		return reading{in.as, id}, err == nil && in.likely(id)
	}
	if len(word) <= maxDigits && isDigits(word) {
		id, err := types.ParseID(string(word))
		return reading{decimal, id}, err == nil && in.likely(id)
	}
	if in.serial == nil || in.as.name != "" || len(word) <= maxDigits {
		return reading{}, false
	}
	id, err := in.serial.Parse(string(word))
	return reading{form{name: serialName}, id}, err == nil && in.likely(id)
}

// maxDigits is the length of the largest ID; every serial number is longer.
const maxDigits = 19

func isDigits[T string | []byte](s T) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return len(s) > 0
}

// quote shows enough of a text to find it again.
func quote(s string) string {
	const enough = 64
	if len(s) > enough {
		return strconv.Quote(s[:enough]) + "…"
	}
	return strconv.Quote(s)
}
