package types_test

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/gormflake/gormflake/types"
)

// Scan reads what drivers, GORM, its serializers and ent pass to it.
func TestScan(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		src  any
		want types.ID
	}{
		{"int64", int64(sample), sample},
		{"int64 zero", int64(0), 0},
		{"int64 negative", int64(-5), -5},
		{"int64 least", int64(math.MinInt64), math.MinInt64},
		{"uint64", uint64(sample), sample},
		{"uint64 greatest", uint64(math.MaxInt64), math.MaxInt64},
		{"string", "7529595880471527425", sample},
		{"string negative", "-5", -5},
		{"string least", "-9223372036854775808", math.MinInt64},
		{"string ZEROFILL", "00000000000000000042", 42},
		{"bytes", []byte("7529595880471527425"), sample},
		{"bytes negative", []byte("-5"), -5},
		{"string of JSON", `"7529595880471527425"`, sample},
		{"bytes of a string of JSON", []byte(`"-5"`), -5},
		{"NULL", nil, 0},
		{"ID", sample, sample},
		{"int", 42, 42},
		{"uint32", uint32(42), 42},
		{"named integer", time.Duration(-42), -42},
		{"named string", json.Number("7529595880471527425"), sample},
		{"pointer to an ID", &[]types.ID{sample}[0], sample},
		{"pointer to an integer", &[]int64{42}[0], 42},
		{"pointer to a typed ID", &[]types.Of[string]{-5}[0], -5},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			id := types.ID(99) // of the previous row
			if err := id.Scan(test.src); err != nil || id != test.want {
				t.Errorf("got %d, %v: want %d", int64(id), err, int64(test.want))
			}
		})
	}
}

// Scan rejects a value that is not exactly one integer, and sets the ID to zero, so that
// the ID of the previous row does not stay.
func TestScanErrors(t *testing.T) {
	t.Parallel()
	const integer = "want a decimal integer"
	const other = ": want an integer or its decimal text"
	for _, test := range []struct {
		name string
		src  any
		want string
	}{
		{"uint64 2^63", uint64(1 << 63), "(9223372036854775808): out of range: want at most 9223372036854775807"},
		{"uint64 2^64-1", uint64(math.MaxUint64), "(18446744073709551615): out of range: want at most 9223372036854775807"},
		{"empty", "", `(""): ` + integer},
		{"empty bytes", []byte{}, `(""): ` + integer},
		{"plus", "+5", `("+5"): ` + integer},
		{"minus only", "-", `("-"): ` + integer},
		{"blank", " 5", `(" 5"): ` + integer},
		{"padded", []byte("5  "), `("5  "): ` + integer},
		{"fraction", "5.00", `("5.00"): ` + integer},
		{"exponent", "5e3", `("5e3"): ` + integer},
		{"underscore", "1_000", `("1_000"): ` + integer},
		{"hexadecimal", "0x1f", `("0x1f"): ` + integer},
		{"one quotation mark", `"`, `("\""): ` + integer},
		{"quotation mark in front", `"12`, `("\"12"): ` + integer},
		{"quotation mark at the end", `15"`, `("15\""): ` + integer},
		{"quotation marks only", `""`, `(""): ` + integer},
		{"two pairs of quotation marks", `""5""`, `("\"5\""): ` + integer},
		{"null of JSON", "null", `("null"): ` + integer},
		{"2^63", "9223372036854775808", `("9223372036854775808"): out of range of int64`},
		{"below int64", "-9223372036854775809", `("-9223372036854775809"): out of range of int64`},
		{"float64", float64(5), ": cannot read float64" + other},
		{"uint 2^63", uint(1 << 63), "(9223372036854775808): out of range: want at most 9223372036854775807"},
		{"named string", json.Number("5.5"), `("5.5"): ` + integer},
		{"bool", true, ": cannot read bool" + other},
		{"nil pointer", (*types.ID)(nil), ": cannot read *types.ID" + other},
		{"pointer to a float64", new(float64), ": cannot read float64" + other},
		{"time", time.Time{}, ": cannot read time.Time" + other},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			id := sample // of the previous row
			err := id.Scan(test.src)
			checkError(t, id, err, "types: ID.Scan"+test.want)
		})
	}
}

// The error for a text of a megabyte must not be a megabyte long.
func TestScanLimitsWhatItQuotes(t *testing.T) {
	t.Parallel()
	var id types.ID
	err := id.Scan(strings.Repeat("x", 1<<20))
	checkError(t, id, err, `types: ID.Scan("`+strings.Repeat("x", 64)+`"... of 1048576 bytes): want a decimal integer`)
}

func TestValue(t *testing.T) {
	t.Parallel()
	for _, id := range []types.ID{0, 1, sample, -5, math.MinInt64} {
		if got, err := id.Value(); got != driver.Value(int64(id)) || err != nil {
			t.Errorf("got %v (%T), %v: want int64 %d", got, got, err, int64(id))
		}
	}
}

// database/sql passes an ID as an integer, and reads integers, text, sums and NULL.
func TestDatabaseSQL(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	const query = "SELECT ?, typeof(?1), CAST(?1 AS TEXT), ?2, sum(id) FROM (SELECT ?1 AS id)"
	var (
		id, text, sum types.ID
		kind          string
		none          *types.ID
		maybe         sql.Null[types.ID]
	)
	row := db.QueryRowContext(t.Context(), query, sample, none)
	if err := row.Scan(&id, &kind, &text, &none, &sum); err != nil {
		t.Fatal(err)
	}
	if id != sample || text != sample || sum != sample || kind != "integer" || none != nil {
		t.Errorf("got %d, %s, %d, %v, %d", id, kind, text, none, sum)
	}
	if err := db.QueryRowContext(t.Context(), "SELECT ?", &id).Scan(&maybe); err != nil || maybe.V != sample || !maybe.Valid {
		t.Errorf("got %+v, %v", maybe, err)
	}
	if err := db.QueryRowContext(t.Context(), "SELECT 7.5e18").Scan(&id); err == nil {
		t.Errorf("a float was read as %d", id)
	}
}
