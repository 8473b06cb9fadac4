package plugintest

import (
	"reflect"
	"time"

	"github.com/gormflake/gormflake/serial"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// Numbers returns the format of a code for the generator of [NewPlugin].
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

// idOf returns the ID in a payment's number, 0 if it has none.
func idOf(number string) types.ID {
	id, _ := Numbers("PAY").Parse(number)
	return id
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
