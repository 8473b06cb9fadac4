package gormflake

import (
	"database/sql/driver"
	"fmt"
	"regexp"
	"strconv"

	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/serial"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// layouter is a generator whose IDs have serial numbers.
type layouter interface{ Layout() snowflake.Layout }

// numbered makes c the column of the serial numbers that begin with code.
func (c *column) numbered(code string) error {
	l, ok := c.source.(layouter)
	if !ok {
		return fmt.Errorf("generator%s is a %T, whose layout is unknown: use a *snowflake.Generator, or give it a method Layout() snowflake.Layout", quotedGen(c.gen), c.source)
	}
	layout := l.Layout()
	format, err := serial.New(code, layout)
	if err != nil {
		return err
	}
	c.code, c.serial, c.last = code, format, layout.Max(layout.Expires())
	return c.fits(c.field)
}

// fits judges whether f is declared wide enough for the serial numbers of c.
func (c *column) fits(f *schema.Field) error {
	defer readLock(f.Schema)()
	if size, setting := declaredSize(f); size > 0 && size < c.serial.Width() {
		return fmt.Errorf("the column has %d characters, a serial number of %s has %d: raise gorm:%q", size, c.code, c.serial.Width(), setting)
	}
	return nil
}

var sizeOfType = regexp.MustCompile(`(?i)char[a-z ]*\(\s*(\d+)\s*\)`)

// declaredSize returns the characters that the model gives a string column and
// the setting that says so; 0 where it does not say. GORM ignores size beside a
// type of the database.
func declaredSize(f *schema.Field) (size int, setting string) {
	if f.DataType == schema.String {
		return f.Size, "size"
	}
	if m := sizeOfType.FindStringSubmatch(string(f.DataType)); m != nil {
		size, _ = strconv.Atoi(m[1])
	}
	return size, "type"
}

// width is how many characters the column needs if it holds text.
func (c *column) width() int {
	if c.serial != nil {
		return c.serial.Width()
	}
	return idDigits
}

// idIn returns the ID that a caller's map holds in whatever form, 0 if it is
// none. For a string column only the one text of an ID is it: to the database,
// 017 and 17 are two keys.
func (k kind) idIn(value any) types.ID {
	v, err := driver.DefaultParameterConverter.ConvertValue(value)
	if err != nil {
		return 0
	}
	var id types.ID
	if err := id.Scan(v); err != nil || k.isString() && !isTextOf(id, v) {
		return 0
	}
	return id
}

// isTextOf tells the text of id from others of the same number.
func isTextOf(id types.ID, value driver.Value) bool {
	switch v := value.(type) {
	case string:
		return v == id.String()
	case []byte:
		return string(v) == id.String()
	}
	return true
}
