package model

import (
	"fmt"
	"regexp"
	"strconv"

	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/serial"
	"github.com/gormflake/gormflake/snowflake"
)

// layouter is a generator whose IDs have serial numbers.
type layouter interface{ Layout() snowflake.Layout }

// setSerial makes c a column of serial numbers that begin with code.
func (c *Column) setSerial(code string) error {
	l, ok := c.source.(layouter)
	if !ok {
		return fmt.Errorf("generator%s is a %T, whose layout is unknown: use a *snowflake.Generator, or give it a method Layout() snowflake.Layout", quotedGen(c.gen), c.source)
	}
	layout := l.Layout()
	format, err := serial.New(code, layout)
	if err != nil {
		return err
	}
	c.code, c.Serial, c.last = code, format, layout.Max(layout.Expires())
	return c.CheckWidth(c.Field)
}

// CheckWidth returns an error if f, which is c's field or refers to it, is
// declared too narrow for the serial numbers of c.
func (c *Column) CheckWidth(f *schema.Field) error {
	defer ReadLock(f.Schema)()
	if size, setting := declaredSize(f); size > 0 && size < c.Serial.Width() {
		return fmt.Errorf("the column has %d characters, a serial number of %s has %d: raise gorm:%q", size, c.code, c.Serial.Width(), setting)
	}
	return nil
}

var sizeOfType = regexp.MustCompile(`(?i)char[a-z ]*\(\s*(\d+)\s*\)`)

// declaredSize returns how many characters the model declares for a string
// column, 0 if it does not, and the setting that declares it. GORM ignores size
// if type names a type of the database.
func declaredSize(f *schema.Field) (size int, setting string) {
	if f.DataType == schema.String {
		return f.Size, "size"
	}
	if m := sizeOfType.FindStringSubmatch(string(f.DataType)); m != nil {
		size, _ = strconv.Atoi(m[1])
	}
	return size, "type"
}
