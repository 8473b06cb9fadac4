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
	"github.com/gormflake/gormflake/types"
)

// An interpreter determines the ID that a text stands for.
type interpreter struct {
	reader
	as         form            // the form of --as; the zero form means that the text decides
	serials    *serials.Reader // reads serial numbers
	serialForm form            // the form of serial numbers, whose function parse is that of serials

	// firstLikely and lastLikely are the smallest and the largest ID of the times from
	// --since to --until. A text that could be something else counts as an ID only if its
	// ID is between them.
	firstLikely, lastLikely types.ID

	firstNumber types.ID          // a decimal word in a log counts as an ID only from this ID on
	codecs      []*publicid.Codec // one for each --secret-file
	now         time.Time
}

// A reading is the ID that a text stands for if it is read in one form.
type reading struct {
	form form
	id   types.ID
	text string // the text or, for a public ID such as ord_mhnGNExQofhATHNAGGdAju, its prefix
}

// recordOf returns the record of a reading, for the output.
func (in *interpreter) recordOf(r reading) record {
	rec := in.newRecord(r.id)
	rec.Form = r.form.name
	switch rec.Form {
	case serialName:
		rec.Serial = r.text
	case publicName:
		rec.Prefix = r.text
	}
	return rec
}

// read returns the reading of an argument of the command. It returns several readings if the
// text has a likely time in several forms, for example in base 58 and in base 62.
func (in *interpreter) read(s string) ([]reading, error) {
	s = stripSpreadsheet(strings.TrimSpace(s))
	if err := checkWhole(s); err != nil {
		return nil, err
	}
	if in.as.name == "" { // --as is auto, the default
		return in.readAny(s)
	}
	return in.readAs(in.as, s)
}

// formula matches the forms ="123" and '123, by which an export prevents a spreadsheet from
// treating the text 123 as a number. The first group is the text in the first form, and the
// second group is the text in the second form.
var formula = regexp.MustCompile(`^(?:="([^"]*)"|'(.+))$`)

// stripSpreadsheet returns the text in a formula, or s if it is not a formula.
func stripSpreadsheet(s string) string {
	if found := formula.FindStringSubmatch(s); found != nil {
		return found[1] + found[2] // one of them is empty
	}
	return s
}

var (
	negative = regexp.MustCompile(`^-[0-9]+$`)

	// scientific matches a number in the notation of spreadsheets, such as 2.12419E+18. Its
	// groups are the first digit, the further digits and the exponent.
	scientific = regexp.MustCompile(`^([0-9])[.,]?([0-9]*)[eE]\+?([0-9]{1,2})$`)
)

// checkWhole returns an error if s is a number that cannot be an ID, because it is negative
// or because a spreadsheet has cut off its last digits, as in 2.12419E+18. Such a number
// would otherwise be read as base 58 or as another form.
func checkWhole(s string) error {
	if negative.MatchString(s) {
		return fmt.Errorf("%s is not an ID: no ID is negative", terminal.Quote(s))
	}
	number := scientific.FindStringSubmatch(s)
	if number == nil {
		return nil
	}
	exponent, _ := strconv.Atoi(number[3])
	lost := exponent - len(number[2]) // for 2.12419E+18, the last 13 of 19 digits
	if lost <= 0 {
		return nil
	}
	return fmt.Errorf("%s is what a spreadsheet leaves of a number: the last %s of its %d are lost; import the column as text", terminal.Quote(s),
		terminal.Counted(lost, "digit", "digits"), exponent+1)
}

// readAny reads an argument of unknown form. It tries the forms that a text shows by its
// characters, then decimal, and then the forms that have to be guessed.
func (in *interpreter) readAny(s string) ([]reading, error) {
	if public := publicText.FindStringSubmatch(s); public != nil {
		return in.readPublic(public[1], s)
	}
	digits := isDigits(s)
	if f, ok := in.formOf([]byte(s)); ok {
		readings, err := in.readAs(f, s)
		// Digits alone may end like a serial number whose code has only digits. If they are not
		// valid as a serial number, the error about a decimal below is more helpful.
		if err == nil || f.name != serialName || !digits {
			return readings, err
		}
	}
	if digits {
		return in.readAs(decimal, s)
	}
	return in.guess(s)
}

// readAs reads an argument in one form. It rejects 0 and numbers above the layout's last
// ID.
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

// guess returns the readings in base 32, base 58 and base 62 whose time is likely. It returns
// an error if there is no such reading.
func (in *interpreter) guess(s string) ([]reading, error) {
	var likely []reading
	valid := false // whether s can be read in at least one form
	for _, f := range guessedForms {
		id, err := f.parse(s)
		valid = valid || err == nil
		if err == nil && in.likely(id) {
			likely = append(likely, reading{f, id, s})
		}
	}
	switch {
	case len(likely) > 0:
		return likely, nil
	case valid:
		return nil, fmt.Errorf("%s is not an ID with a time from %s to %s: say with --as which form it has, or with --layout of which layout it is",
			terminal.Quote(s), terminal.Stamp(in.layout.Time(in.firstLikely)), terminal.Stamp(in.layout.Time(in.lastLikely)))
	}
	return nil, fmt.Errorf("%s is not an ID: want decimal, hex such as 0x1d7a, base32, base58 or base62, or a serial number", terminal.Quote(s))
}

// likely reports whether the time of an ID is from --since to --until.
func (in *interpreter) likely(id types.ID) bool { return id >= in.firstLikely && id <= in.lastLikely }

// ambiguous returns the error for an argument with several readings.
func (in *interpreter) ambiguous(s string, readings []reading) error {
	var texts []string
	for _, r := range readings {
		texts = append(texts, fmt.Sprintf("%v of %s as %s", r.id, terminal.Stamp(in.layout.Time(r.id)), r.form.name))
	}
	return fmt.Errorf("%s is ambiguous: %s: say which with --as", terminal.Quote(s), strings.Join(texts, ", "))
}

// find reads a word of a log, and reports whether it is an ID. Most words of a log are not
// IDs, so find rejects a word that is an ID of an unlikely time. It also rejects a decimal
// number below firstNumber, which may be the number of a credit card.
func (in *interpreter) find(word []byte) (reading, bool) {
	f, ok := in.formOf(word)
	if !ok {
		return reading{}, false
	}
	text := string(word)
	id, err := f.parse(text)
	return reading{f, id, text}, err == nil && in.likely(id) && (f.name != decimal.name || id >= in.firstNumber)
}

// formOf returns the form in which a word is to be read, which with --as is the form of the
// flag. It returns false for a word that does not look like an ID of this form. Without --as,
// formOf recognizes hexadecimal, BigInt, decimal and serial numbers by their characters, and
// returns false for all other words, which are in base 32, 58 or 62 or are not IDs. It does
// not allocate memory for most words that are not IDs, because a log has many of them.
func (in *interpreter) formOf(word []byte) (form, bool) {
	number := len(word) <= maxDigits && isDigits(word)
	switch as := in.as.name; {
	case as == "" && isHex(word):
		return hexadecimal, true
	case as == "" && isBigInt(word):
		return bigInt, true
	case as == decimal.name || as == "" && number:
		return decimal, number
	case in.takesSerials(): // also a number with more digits than an ID
		return in.serialForm, serials.Ends(in.serials, word)
	}
	return in.as, true // --as names one of the other forms
}

// takesSerials reports whether --as allows that a text is read as a serial number.
func (in *interpreter) takesSerials() bool { return in.as.name == "" || in.as.name == serialName }

// publicName is the name of the form of public IDs, which --as does not accept.
const publicName = "public"

// publicText matches a public ID of package publicid, such as ord_mhnGNExQofhATHNAGGdAju. It
// consists of a prefix, which is the group, and 22 digits in base 58.
var publicText = regexp.MustCompile(`^([a-z][a-z0-9]{0,31})_[1-9A-HJ-NP-Za-km-z]{22}$`)

// readCodecs returns a codec for each file of --secret-file. A codec decrypts the public IDs
// that were encrypted with the secret in the file.
func readCodecs(files []string) (all []*publicid.Codec, err error) {
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

// readPublic decrypts the public ID s with the first secret that fits. prefix is its prefix.
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
