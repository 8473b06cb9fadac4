package serial_test

import (
	"fmt"

	"github.com/gormflake/gormflake/serial"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

func Example() {
	payments, err := serial.New("PAY", snowflake.TwitterLayout())
	if err != nil {
		fmt.Println(err)
		return
	}
	number := payments.Format(1541815603606036480)
	fmt.Println(number)

	id, err := payments.Parse(number)
	fmt.Println(id, err)

	_, err = payments.Parse("PAY2022023016074010511260000")
	fmt.Println(err)
	// Output:
	// PAY2022062816074010511260000
	// 1541815603606036480 <nil>
	// serial: Parse("PAY2022023016074010511260000"): day 30 out of range [1, 28]
}

// A row that has no key yet has no serial number.
func ExampleFormat_Format() {
	payments, err := serial.New("PAY", snowflake.TwitterLayout())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, id := range []types.ID{17, 0, -5} {
		fmt.Println(payments.Format(id))
	}
	// Output:
	// PAY2010110401425465700000017
	// PAY!0
	// PAY!-5
}

// Width returns the size of the column.
func ExampleFormat_Width() {
	for _, code := range []string{"PAY", "REFUND"} {
		f, err := serial.New(code, snowflake.TwitterLayout())
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s varchar(%d)\n", code, f.Width())
	}
	// Output:
	// PAY varchar(28)
	// REFUND varchar(31)
}

func ExampleWithSeparator() {
	f, err := serial.New("PAY", snowflake.TwitterLayout(), serial.WithSeparator("-"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Format(1541815603606036480))
	// Output:
	// PAY-20220628160740105-11-26-0000
}
