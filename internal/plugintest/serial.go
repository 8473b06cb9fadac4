package plugintest

import (
	"reflect"
	"time"

	"github.com/gormflake/gormflake/serial"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// numbers is the format of a code for the generator of newPlugin.
func Numbers(code string) *serial.Format {
	f, err := serial.New(code, snowflake.TwitterLayout())
	if err != nil {
		panic(err)
	}
	return f
}

var jsNumbers = func() *serial.Format {
	f, err := serial.New("PAY", snowflake.JSSafeLayout())
	if err != nil {
		panic(err)
	}
	return f
}()

// idOf is the ID of a payment's number, 0 if that is none.
func idOf(number string) types.ID {
	id, _ := Numbers("PAY").Parse(number)
	return id
}

// layoutCounter is a counter with a layout.
type LayoutCounter struct {
	Counter
	layout snowflake.Layout
}

func (c *LayoutCounter) Layout() snowflake.Layout { return c.layout }

func NewLayoutCounter() *LayoutCounter {
	return &LayoutCounter{layout: snowflake.TwitterLayout()}
}

// made is how many IDs the generator made that began after start.
func made(c *Counter, start types.ID) int {
	if c.Calls == 0 {
		return 0
	}
	return int(c.Last - start)
}

// copyOf returns a pointer to a copy of what row points to.
func copyOf(row any) any {
	c := reflect.New(reflect.TypeOf(row).Elem())
	c.Elem().Set(reflect.ValueOf(row).Elem())
	return c.Interface()
}

func deref(row any) any { return reflect.ValueOf(row).Elem().Interface() }

func day(text string) time.Time {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		panic(err)
	}
	return t
}
