package ids

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/serials"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/publicid"
	"github.com/gormflake/gormflake/types"
)

// An interpreter finds out which ID a text stands for.
type interpreter struct {
	reader
	as          form // the zero form finds out which
	serials     *serials.Reader
	serialForm  form
	first, last types.ID // the IDs that a text of unknown form may stand for
	firstNumber types.ID // the same of a decimal word of a text
	codecs      []*publicid.Codec
}

// A reading is what a text means in one form.
type reading struct {
	form form
	id   types.ID
	text string // of a public ID the prefix
}

// recordOf is all that the ID contains, and how it was found.
func (in *interpreter) recordOf(r reading) record {
	rec := in.record(r.id)
	rec.Form = r.form.name
	switch rec.Form {
	case serialName:
		rec.Serial = r.text
	case publicName:
		rec.Prefix = r.text
	}
	return rec
}

// read returns one reading, or all of several that are equally likely.
func (in *interpreter) read(s string) ([]reading, error) {
	s = strings.TrimSpace(s)
	if in.as.name == "" {
		return in.readAny(s)
	}
	return in.readAs(in.as, s)
}

func (in *interpreter) readAny(s string) ([]reading, error) {
	if public := publicText.FindStringSubmatch(s); public != nil {
		return in.readPublic(public[1], s)
	}
	digits := isDigits(s)
	if f, ok := in.formOf([]byte(s)); ok {
		readings, err := in.readAs(f, s)
		if err == nil || f.name != serialName || !digits {
			return readings, err
		}
	}
	if digits {
		return in.readAs(decimal, s)
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
		return nil, errors.New("0 is not an ID: it stands for one that is not assigned yet")
	case id > largest:
		return nil, fmt.Errorf("%s is too large: want at most %v, the last ID of the layout", s, largest)
	}
	return []reading{{f, id, s}}, nil
}

func (in *interpreter) guess(s string) ([]reading, error) {
	var likely []reading
	known := false
	for _, f := range guessed {
		id, err := f.parse(s)
		known = known || err == nil
		if err == nil && in.likely(id) {
			likely = append(likely, reading{f, id, s})
		}
	}
	switch {
	case len(likely) > 0:
		return likely, nil
	case known:
		return nil, fmt.Errorf("%s is not an ID with a time from %s to %s: say with --as which form it has, or with --layout of which layout it is",
			terminal.Quote(s), terminal.Stamp(in.layout.Time(in.first)), terminal.Stamp(in.layout.Time(in.last)))
	}
	return nil, fmt.Errorf("%s is not an ID: want decimal, hex such as 0x1d7a, base32, base58 or base62, or a serial number", terminal.Quote(s))
}

func (in *interpreter) likely(id types.ID) bool { return id >= in.first && id <= in.last }

func (in *interpreter) ambiguous(s string, readings []reading) error {
	var texts []string
	for _, r := range readings {
		texts = append(texts, fmt.Sprintf("%v of %s as %s", r.id, terminal.Stamp(in.layout.Time(r.id)), r.form.name))
	}
	return fmt.Errorf("%s is ambiguous: %s: say which with --as", terminal.Quote(s), strings.Join(texts, ", "))
}

// find reads a word of a text.
func (in *interpreter) find(word []byte) (reading, bool) {
	f, ok := in.formOf(word)
	if !ok {
		return reading{}, false
	}
	text := string(word)
	id, err := f.parse(text)
	return reading{f, id, text}, err == nil && in.likely(id) && (f.name != decimal.name || id >= in.firstNumber)
}

// formOf is the form that the word may have, but for the guessed ones. It does not
// allocate for words that are not IDs, as most are. A number with more digits than an
// ID has may be a serial number.
func (in *interpreter) formOf(word []byte) (form, bool) {
	number := len(word) <= maxDigits && isDigits(word)
	switch as := in.as.name; {
	case as == "" && isHex(word):
		return hexadecimal, true
	case as == "" && isBigInt(word):
		return bigInt, true
	case as == decimal.name || as == "" && number:
		return decimal, number
	case in.takesSerials():
		return in.serialForm, serials.Ends(in.serials, word)
	}
	return in.as, true
}

func (in *interpreter) takesSerials() bool { return in.as.name == "" || in.as.name == serialName }

// isHex needs the prefix: without it, hexadecimal is any of the other forms. With
// more digits than an ID has, it is a serial number whose code is 0X.
func isHex[T string | []byte](s T) bool {
	if len(s) < 3 || len(s) > len("0x7fffffffffffffff") || s[0] != '0' || s[1] != 'x' && s[1] != 'X' {
		return false
	}
	_, err := strconv.ParseUint(string(s[2:]), 16, 64)
	return err == nil
}

// isBigInt wants more digits than a text in base 32 has characters.
func isBigInt(s []byte) bool {
	last := len(s) - 1
	return last > 14 && last <= maxDigits && s[last] == 'n' && isDigits(s[:last])
}

// maxDigits is the length of the largest ID.
const maxDigits = 19

func isDigits[T string | []byte](s T) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return len(s) > 0
}
