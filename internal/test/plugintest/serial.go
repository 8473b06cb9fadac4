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

// JSNumbers is a format of serial numbers of the JavaScript-safe layout.
var JSNumbers = func() *serial.Format {
	f, err := serial.New("PAY", snowflake.JSSafeLayout())
	if err != nil {
		panic(err)
	}
	return f
}()

// IDOf returns the ID in a payment's number, or 0 if the number is invalid.
func IDOf(number string) types.ID {
	id, _ := Numbers("PAY").Parse(number)
	return id
}

// CopyOf returns a pointer to a copy of the value that row points to.
func CopyOf(row any) any {
	c := reflect.New(reflect.TypeOf(row).Elem())
	c.Elem().Set(reflect.ValueOf(row).Elem())
	return c.Interface()
}

// Deref returns the struct that row points to.
func Deref(row any) any { return reflect.ValueOf(row).Elem().Interface() }

// Day returns the start of a date, in UTC.
func Day(text string) time.Time {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		panic(err)
	}
	return t
}
