package ids

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/serials"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/publicid"
	"github.com/gormflake/gormflake/snowflake"
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
	now         time.Time
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
	s = fromSpreadsheet(strings.TrimSpace(s))
	if err := notWhole(s); err != nil {
		return nil, err
	}
	if in.as.name == "" {
		return in.readAny(s)
	}
	return in.readAs(in.as, s)
}

// formula is how exports keep a spreadsheet from making a number of a text.
var formula = regexp.MustCompile(`^(?:="([^"]*)"|'(.+))$`)

func fromSpreadsheet(s string) string {
	if found := formula.FindStringSubmatch(s); found != nil {
		return found[1] + found[2]
	}
	return s
}

var (
	negative   = regexp.MustCompile(`^-[0-9]+$`)
	scientific = regexp.MustCompile(`^([0-9])[.,]?([0-9]*)[eE]\+?([0-9]{1,2})$`)
)

// notWhole returns why a number cannot be read as an ID, whatever its digits are.
func notWhole(s string) error {
	if negative.MatchString(s) {
		return fmt.Errorf("%s is not an ID: no ID is negative", terminal.Quote(s))
	}
	number := scientific.FindStringSubmatch(s)
	if number == nil {
		return nil
	}
	exponent, _ := strconv.Atoi(number[3])
	lost := exponent - len(number[2])
	if lost <= 0 {
		return nil
	}
	return fmt.Errorf("%s is what a spreadsheet leaves of a number: the last %s of its %d are lost; import the column as text", terminal.Quote(s),
		terminal.Counted(lost, "digit", "digits"), exponent+1)
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

const publicName = "public"

// publicText is the form of package publicid: a prefix and 22 digits.
var publicText = regexp.MustCompile(`^([a-z][a-z0-9]{0,31})_[1-9A-HJ-NP-Za-km-z]{22}$`)

// codecs reads the files of --secret-file.
func codecs(files []string) (all []*publicid.Codec, err error) {
	for _, file := range files {
		secret, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("--secret-file: %w", err)
		}
		codec, err := publicid.New(secret)
		if err != nil {
			return nil, terminal.Usagef("--secret-file %s: %w", file, err)
		}
		all = append(all, codec)
	}
	return all, nil
}

// readPublic reads a text of the form by the first secret that it was made with.
func (in *interpreter) readPublic(prefix, s string) ([]reading, error) {
	if len(in.codecs) == 0 {
		return nil, fmt.Errorf("%s has the form of a public ID: want --secret-file", terminal.Quote(s))
	}
	for _, codec := range in.codecs {
		kind, err := publicid.For[types.ID](codec, prefix)
		if err != nil {
			return nil, err
		}
		if id, err := kind.Parse(s); err == nil {
			return []reading{{form{name: publicName}, id, prefix}}, nil
		}
	}
	return nil, fmt.Errorf("%s is not a public ID of this secret: want the secret that it was made with, and its prefix and every digit unchanged", terminal.Quote(s))
}

// early is for how long after the layout's epoch a number is hardly an ID: those of
// cards have 16 digits, which the default layout gives for 28 days.
const early = 30 * 24 * time.Hour

// matured is when numbers are IDs: for a young layout, halfway between its epoch and now.
func matured(l snowflake.Layout, now time.Time) time.Time {
	return l.Epoch.Add(min(early, now.Sub(l.Epoch)/2))
}

// word is what a person would write.
var word = regexp.MustCompile(`^[A-Za-z][a-z]+$`)

// doubt says why what was read is hardly an ID of the layout; empty where it may be one.
func (in *interpreter) doubt(r reading) string {
	now, at := in.now, in.layout.Time(r.id)
	switch unix := unixTime(r.id, now); {
	case r.form.name == serialName, r.form.name == publicName:
		return ""
	case word.MatchString(r.text):
		return "it looks like a word"
	case unix != "":
		return "it may be " + unix
	case isRounded(r.id):
		return "it ends with 00 as digits that JavaScript has rounded do"
	case at.After(now.Add(24 * time.Hour)):
		return "it is of the future, or of another --layout"
	case at.Before(matured(in.layout, now)):
		return "it is of the layout's first 30 days: is it a number of something else, or of another --layout?"
	}
	return ""
}

// unixTime is the time since 1970 that a number may stand for, within ten years. IDs
// may be as large as nanoseconds, but do not end with six zeros.
func unixTime(id types.ID, now time.Time) string {
	unit := time.Second
	for _, name := range []string{"seconds", "milliseconds", "microseconds", "nanoseconds"} {
		per := int64(time.Second / unit)
		at := time.Unix(id.Int64()/per, id.Int64()%per*int64(unit))
		if now.Sub(at).Abs() < 10*365*24*time.Hour && (unit > 1 || id%1e6 == 0) {
			return fmt.Sprintf("%s since 1970: %s", name, terminal.Stamp(at))
		}
		unit /= 1000
	}
	return ""
}

// isRounded reports whether the digits are those that a JavaScript number prints.
func isRounded(id types.ID) bool {
	text := id.String()
	return id > 1<<53 && strings.HasSuffix(text, "00") && strconv.FormatFloat(float64(id), 'f', -1, 64) == text
}
