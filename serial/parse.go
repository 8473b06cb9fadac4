package serial

import (
	"errors"
	"fmt"
	"time"

	"github.com/gormflake/gormflake/types"
)

// Parse returns the ID of a serial number that [Format.Format] wrote. Each ID has exactly
// one text. For any other text Parse returns 0 and an error that quotes the text and
// gives the reason. The reasons are another code, length or separator, a date or time of
// day that does not exist (30 February, hour 24, second 60), a time that is outside the
// layout or not the start of a tick, a field that is too large for the layout, and ID 0.
func (f *Format) Parse(s string) (types.ID, error) {
	id, err := f.parse(s)
	if err != nil {
		return 0, fmt.Errorf("serial: Parse(%s): %w", quote(s), err)
	}
	return id, nil
}

// parse returns the ID of a serial number, or an error with the reason why s is not a serial
// number of this format. Parse adds s to the error.
func (f *Format) parse(s string) (types.ID, error) {
	if err := f.checkShape(s); err != nil {
		return 0, err
	}
	var v values
	for i := range v {
		v[i] = f.positions[i].read(s)
	}
	p, err := v.toParts()
	if err != nil {
		return 0, err
	}
	id, err := f.layout.Compose(p)
	if err != nil {
		return 0, err
	}
	if start := f.layout.Time(id); !start.Equal(p.Time) { // Compose has truncated the time to its tick
		return 0, fmt.Errorf("time %s is not the start of a tick of %v: want %s",
			p.Time.Format(time.RFC3339Nano), f.layout.Tick, start.Format(time.RFC3339Nano))
	}
	if id == 0 {
		return 0, errors.New("it is ID 0, which no row has: want a later one")
	}
	return id, nil
}

// checkShape returns an error unless s has the length, the code and the separators of the
// template, and a digit where the template has a 0. For example, the template with the code PAY
// and the separator - begins PAY-00000000.
func (f *Format) checkShape(s string) error {
	if len(s) != len(f.template) {
		return fmt.Errorf("length %d: want %d as in %s", len(s), len(f.template), f.template)
	}
	if code := s[:len(f.code)]; code != f.code {
		return fmt.Errorf("code %q: want %q", code, f.code)
	}
	for i := len(f.code); i < len(s); i++ {
		want := f.template[i]
		switch {
		case want != '0' && s[i] != want:
			return fmt.Errorf("%q at offset %d: want %q", s[i:i+1], i, want)
		case want == '0' && (s[i] < '0' || s[i] > '9'):
			return fmt.Errorf("%q at offset %d: want a digit", s[i:i+1], i)
		}
	}
	return nil
}
