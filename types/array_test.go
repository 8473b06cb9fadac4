package types_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/schema"
	"gorm.io/gorm/utils/tests"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/types"
)

// A ticket has a key of its own type. It is declared before all structs with this key,
// because the compiler of Go 1.25 crashes on another order.
type (
	ticketID = types.Of[ticket]
	ticket   struct {
		ID     ticketID `json:"id" gorm:"primaryKey"`
		Parent *ticketID
		Note   ticketID `gorm:"type:bigint"`
	}
)

// arrays are the Arrays that tests write to databases and read again.
var arrays = []types.IDs{nil, {}, {sample}, {0, 1, -5, math.MaxInt64, math.MinInt64}}

// Value is the text of a PostgreSQL array, and NULL for a nil Array.
func TestArrayValue(t *testing.T) {
	t.Parallel()
	want := []any{nil, "{}", "{7529595880471527425}", "{0,1,-5,9223372036854775807,-9223372036854775808}"}
	for i, ids := range arrays {
		if got, err := ids.Value(); err != nil || got != want[i] {
			t.Errorf("got %v, %v: want %v", got, err, want[i])
		}
	}
}

// GORM writes an Array as an array in PostgreSQL, as the text of a JSON array in other
// databases, and a nil Array as NULL.
func TestArrayGormValue(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		dialector gorm.Dialector
		ids       types.IDs
		want      any
	}{
		{&postgres.Dialector{}, types.IDs{1, 2}, "{1,2}"},
		{&mysql.Dialector{}, types.IDs{1, 2}, "[1,2]"},
		{&sqlite.Dialector{}, types.IDs{1, 2}, "[1,2]"},
		{&sqlite.Dialector{}, types.IDs{}, "[]"},
		{&postgres.Dialector{}, nil, nil},
		{&sqlite.Dialector{}, nil, nil},
	} {
		db := &gorm.DB{Config: &gorm.Config{Dialector: test.dialector}}
		got := test.ids.GormValue(t.Context(), db)
		if want := (clause.Expr{SQL: "?", Vars: []any{test.want}}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", test.dialector.Name(), got, want)
		}
	}
}

// Scan reads text and binary forms, of elements of 8, 4 and 2 bytes.
func TestArrayScan(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		src  any
		want types.IDs
	}{
		{nil, nil},
		{"{}", types.IDs{}},
		{[]byte("[]"), types.IDs{}},
		{"[ ]", types.IDs{}},
		{"{7529595880471527425,-5}", types.IDs{sample, -5}},
		{[]byte(`["7529595880471527425", 1]`), types.IDs{sample, 1}},
		{`{"1"}`, types.IDs{1}},
		{words(0, 0, 20), types.IDs{}},
		{words(1, 0, 20, 0, 1), types.IDs{}},
		{words(1, 0, 20, 2, 1, 8, 0x687E_B1F8, 0xDF80_0001, 8, 0xFFFF_FFFF, 0xFFFF_FFFB), types.IDs{0x687E_B1F8_DF80_0001, -5}},
		{words(1, 0, 23, 3, 1, 4, 0x1234_5678, 4, 0xFFFF_FFFB, 4, 0), types.IDs{0x1234_5678, -5, 0}},
		{append(words(1, 0, 21, 1, 1, 2), 0xFF, 0xFE), types.IDs{-2}},
		{append(words(1, 0, 21, 1, 1, 2), 0x01, 0x02), types.IDs{0x102}},
	} {
		got := types.IDs{99}
		if err := got.Scan(test.src); err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %#v, %v: want %#v", test.src, got, err, test.want)
		}
	}
}

// words returns an array in PostgreSQL's binary form, which consists of words of 4 bytes.
// The first five are the number of dimensions, flags, the type of the elements (20 is
// bigint, 21 smallint, 23 integer), the length and the lower bound. Then the size of each
// element and the element follow.
func words(words ...uint32) (b []byte) {
	for _, w := range words {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

// binaryError returns the error for an array in binary form that is rejected.
func binaryError(b []byte) string {
	return fmt.Sprintf("types: Array.Scan(%q): want one dimension of integers without NULL", b)
}

// Scan returns an error for a text or binary form that is not one list of integers. It must
// not read beyond a form that is cut off.
func TestArrayScanErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		src  any
		want string
	}{
		{int64(5), "types: Array.Scan: cannot read int64: want an array of integers or its text"},
		{"", `types: Array.Scan(""): want {…} or […]`},
		{"{", `types: Array.Scan("{"): want {…} or […]`},
		{"{1]", `types: Array.Scan("{1]"): want {…} or […]`},
		{"[2:3]={1,2}", `types: Array.Scan("[2:3]={1,2}"): want {…} or […]`},
		{[]byte(""), `types: Array.Scan(""): want {…} or […]`},
		{[]byte("{"), `types: Array.Scan("{"): want {…} or […]`},
		{"1,2", `types: Array.Scan("1,2"): want {…} or […]`},
		{"123", `types: Array.Scan("123"): want {…} or […]`}, // '3' is '1'+2, as '}' is '{'+2
		{"{1,NULL}", `types: Array.Scan, element 1: types: ID.Scan("NULL"): want a decimal integer`},
		{"{{1},{2}}", `types: Array.Scan, element 0: types: ID.Scan("{1}"): want a decimal integer`},
		{"{1,}", `types: Array.Scan, element 1: types: ID.Scan(""): want a decimal integer`},
		{"[1.5]", `types: Array.Scan, element 0: types: ID.Scan("1.5"): want a decimal integer`},
		{
			[]byte("\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x15\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x03\x00\x05"),
			`types: Array.Scan("\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x15\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x03\x00\x05"): want one dimension of integers without NULL`,
		},
		{words(0, 0, 20, 0), binaryError(words(0, 0, 20, 0))}, // an array without dimensions has no length
		{words(1, 0, 20), binaryError(words(1, 0, 20))},
		{words(1, 0, 20, 0), binaryError(words(1, 0, 20, 0))},
		{words(1, 0, 20, 0, 1)[:19], binaryError(words(1, 0, 20, 0, 1)[:19])}, // cut off
		{words(2, 0, 20, 0, 1), binaryError(words(2, 0, 20, 0, 1))},
		{words(1, 0, 25, 0, 1), binaryError(words(1, 0, 25, 0, 1))},                                 // text
		{words(1, 0, 23, 2, 1, 4, 7), binaryError(words(1, 0, 23, 2, 1, 4, 7))},                     // one element of two
		{words(1, 0, 23, 1, 1, 0xFFFF_FFFF, 7), binaryError(words(1, 0, 23, 1, 1, 0xFFFF_FFFF, 7))}, // NULL
	} {
		got := types.IDs{99}
		if err := got.Scan(test.src); err == nil || err.Error() != test.want || got != nil {
			t.Errorf("got %v, %v: want %s", got, err, test.want)
		}
	}
}

// In JSON an Array is the same as a slice.
func TestArrayJSON(t *testing.T) {
	t.Parallel()
	for want, ids := range map[string]types.IDs{"null": nil, "[]": {}, `["1","7529595880471527425"]`: {1, sample}} {
		text, err := json.Marshal(ids)
		var back types.IDs
		if err != nil || string(text) != want || json.Unmarshal(text, &back) != nil || !reflect.DeepEqual(back, ids) {
			t.Errorf("got %s, %v, %#v: want %s", text, err, back, want)
		}
	}
}

// In all modes of pgx an Array is a bigint[], as a parameter, in ANY and in a result.
func TestPgxArray(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, conn *pgx.Conn) {
		for _, want := range arrays {
			typed := make(types.Array[ticketID], len(want))
			for i, id := range want {
				typed[i] = ticketID(id)
			}
			var got types.IDs
			var back types.Array[ticketID]
			var n int
			err := conn.QueryRow(t.Context(), "SELECT $1::bigint[], $2::bigint[], cardinality($2::bigint[])", want, typed).Scan(&got, &back, &n)
			if err != nil || !reflect.DeepEqual(got, want) || !slices.Equal(back, typed) || n != len(want) {
				t.Errorf("got %#v, %v, %d, %v: want %#v", got, back, n, err, want)
			}
			var found bool
			err = conn.QueryRow(t.Context(), "SELECT coalesce(1::bigint = ANY($1), false)", want).Scan(&found)
			if err != nil || found != slices.Contains(want, 1) {
				t.Errorf("1 = ANY(%v) is %t, %v", want, found, err)
			}
		}
	})
}

// CopyFrom, which uses the binary form, writes Arrays.
func TestPgxCopyArray(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgx.QueryExecModeCacheStatement)
	if _, err := conn.Exec(t.Context(), "CREATE TEMPORARY TABLE lists (id bigint, ids bigint[], other bigint[])"); err != nil {
		t.Fatal(err)
	}
	_, err := conn.CopyFrom(t.Context(), pgx.Identifier{"lists"}, []string{"id", "ids", "other"},
		pgx.CopyFromSlice(len(arrays), func(i int) ([]any, error) {
			return []any{ticketID(i), arrays[i], types.Array[ticketID]{ticketID(i)}}, nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := conn.Query(t.Context(), "SELECT ids, other FROM lists ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	var got, other types.IDs
	n := 0
	_, err = pgx.ForEachRow(rows, []any{&got, &other}, func() error {
		if !reflect.DeepEqual(got, arrays[n]) || !slices.Equal(other, types.IDs{types.ID(n)}) {
			t.Errorf("row %d: got %v, %v: want %v", n, got, other, arrays[n])
		}
		n++
		return nil
	})
	if err != nil || n != len(arrays) {
		t.Errorf("%d rows, %v: want %d", n, err, len(arrays))
	}
}

// pgx writes and reads a slice of typed IDs as bigint[], without types.Array.
func TestPgxSliceOfTypedIDs(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgx.QueryExecModeCacheStatement)
	want := []ticketID{1, ticketID(sample)}
	var got []ticketID
	var flat pgtype.FlatArray[ticketID]
	err := conn.QueryRow(t.Context(), "SELECT $1::bigint[], $2::bigint[]", want, pgtype.FlatArray[ticketID](want)).Scan(&got, &flat)
	if err != nil || !slices.Equal(got, want) || !slices.Equal(flat, want) {
		t.Errorf("got %v, %v, %v: want %v", got, flat, err, want)
	}
}

// As a jsonb parameter an ID alone is the number that Value returns. A number and a string
// in a jsonb column can be read into an ID, and null is an error.
func TestPgxJSONB(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, conn *pgx.Conn) {
		var got string
		if err := conn.QueryRow(t.Context(), "SELECT $1::jsonb::text", sample).Scan(&got); err != nil || got != sample.String() {
			t.Errorf("got %s, %v: want a number", got, err)
		}
		for _, text := range []string{"7529595880471527425", `"7529595880471527425"`} {
			var id types.ID
			var typed *ticketID
			err := conn.QueryRow(t.Context(), "SELECT $1::jsonb, $1::jsonb", text).Scan(&id, &typed)
			if err != nil || id != sample || typed == nil || types.ID(*typed) != sample {
				t.Errorf("%s: got %d, %v, %v", text, id, typed, err)
			}
		}
		id := sample
		if err := conn.QueryRow(t.Context(), "SELECT 'null'::jsonb").Scan(&id); err == nil {
			t.Errorf("null is read as %d", id)
		}
	})
}

// TestPgxJSONBOfStruct checks that an ID within another value is a string in jsonb. The test
// uses a mode of pgx that learns the type of each parameter, because the other modes do not
// accept such a value.
func TestPgxJSONBOfStruct(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgx.QueryExecModeCacheStatement)
	for want, value := range map[string]any{
		`{"ID": "7529595880471527425"}`: struct{ ID types.ID }{sample},
		`["7529595880471527425"]`:       []types.ID{sample},
	} {
		var got string
		if err := conn.QueryRow(t.Context(), "SELECT $1::jsonb::text", value).Scan(&got); err != nil || got != want {
			t.Errorf("got %s, %v: want %s", got, err, want)
		}
	}
}

// Scan reads elements of other integer types, and refuses arrays that are not a list of
// integers.
func TestPgxScanArrays(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, conn *pgx.Conn) {
		for _, kind := range []string{"smallint", "integer", "bigint"} {
			var got types.IDs
			err := conn.QueryRow(t.Context(), "SELECT ARRAY[-5, 0, 32767]::"+kind+"[]").Scan(&got)
			if err != nil || !slices.Equal(got, types.IDs{-5, 0, 32767}) {
				t.Errorf("%s: got %v, %v", kind, got, err)
			}
		}
		for _, array := range []string{
			"ARRAY[1, NULL]::bigint[]", "ARRAY[NULL, NULL]::bigint[]", "ARRAY[[1, 2], [3, 4]]::bigint[]", "ARRAY[1.5]::float8[]",
		} {
			got := types.IDs{99}
			if err := conn.QueryRow(t.Context(), "SELECT "+array).Scan(&got); err == nil || got != nil {
				t.Errorf("%s: got %v, %v: want an error", array, got, err)
			}
		}
	})
}

// A list is a row with an Array in each kind of field: of IDs, of typed IDs, behind a
// pointer, and with a column type in its tag.
type list struct {
	ID      types.ID `gorm:"primaryKey"`
	Refs    types.IDs
	Tickets types.Array[ticketID]
	Pointer *types.IDs `json:"pointer"`
	Text    types.IDs  `gorm:"type:text"`
}

// Each database stores an Array in a column and returns the same Array. A second
// AutoMigrate does not alter the column.
func TestArrayColumn(t *testing.T) {
	t.Parallel()
	testdb.Each(t, checkArrayColumn)
}

// The checks of TestArrayColumn also succeed in PostgreSQL's simple protocol, which sends
// parameters as text. Poolers such as PgBouncer need this protocol.
func TestArrayColumnInSimpleProtocol(t *testing.T) {
	t.Parallel()
	url := testdb.PostgresURL(t, testdb.Open(t, testdb.Postgres))
	dialector := postgres.New(postgres.Config{DSN: url, PreferSimpleProtocol: true})
	db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeDB(t, db) })
	checkArrayColumn(t, db)
}

// checkArrayColumn writes and reads rows with arrays, and queries them.
func checkArrayColumn(t *testing.T, db *gorm.DB) {
	t.Helper()
	migrateTwice(t, db, &list{})
	want := []list{{ID: 1}, {ID: 2, Refs: types.IDs{}}}
	for i, ids := range arrays {
		want = append(want, list{types.ID(10 + i), ids, types.Array[ticketID]{1, ticketID(sample)}, &ids, ids})
	}
	want[2].Pointer = nil // NULL is read as a nil pointer
	if err := db.Create(&want).Error; err != nil {
		t.Fatal(err)
	}
	want[1].Refs = types.IDs{sample}
	if err := db.Model(&want[1]).Update("refs", types.IDs{sample}).Error; err != nil {
		t.Fatal(err)
	}
	var got []list
	if err := db.Order("id").Find(&got).Error; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
	checkArrayQueries(t, db)
}

// migrateTwice creates the table, and fails t if GORM alters it at the next start of a
// program.
func migrateTwice(t *testing.T, db *gorm.DB, model any) {
	t.Helper()
	var changes []string
	err := db.Callback().Raw().Before("gorm:raw").Register("changes", func(tx *gorm.DB) {
		changes = append(changes, tx.Statement.SQL.String())
	})
	if err = errors.Join(err, db.AutoMigrate(model)); err != nil || len(changes) == 0 {
		t.Fatal(changes, err)
	}
	changes = nil
	if err := db.AutoMigrate(model); err != nil || len(changes) != 0 {
		t.Errorf("the second migration runs %q, %v", changes, err)
	}
}

// checkArrayQueries finds the rows whose column refs contains sample, with the SQL of each
// database, and the rows with given keys.
func checkArrayQueries(t *testing.T, db *gorm.DB) {
	t.Helper()
	queries := map[string]string{
		"postgres": "? = ANY(refs)", "sqlite": "EXISTS (SELECT * FROM json_each(refs) WHERE value = ?)", "mysql": "json_contains(refs, CAST(? AS CHAR))",
	}
	var ids types.IDs
	find := func(tx *gorm.DB) {
		t.Helper()
		ids = nil
		if err := tx.Model(&list{}).Order("id").Pluck("id", &ids).Error; err != nil || !slices.Equal(ids, types.IDs{2, 12}) {
			t.Errorf("got %v, %v: want [2 12]", ids, err)
		}
	}
	find(db.Where(queries[db.Name()], sample))
	find(db.Where("id IN ?", []types.ID{2, 12}))
	if db.Name() == "postgres" {
		find(db.Where("id = ANY(?)", types.IDs{2, 12}))
	}
	if err := db.Raw("SELECT refs FROM lists WHERE id = 2").Row().Scan(&ids); err != nil || !slices.Equal(ids, types.IDs{sample}) {
		t.Errorf("got %v, %v", ids, err)
	}
}

// A type in the field's tag, such as gorm:"type:json", takes precedence over the column type
// of an Array. GormDBDataType then returns "", which leaves the type to GORM. It must also
// accept a nil field.
func TestArrayTypeInTheTag(t *testing.T) {
	t.Parallel()
	db := &gorm.DB{Config: &gorm.Config{Dialector: tests.DummyDialector{}}}
	tagged := &schema.Field{TagSettings: map[string]string{"TYPE": "json"}}
	for field, want := range map[*schema.Field]string{nil: "text", {}: "text", tagged: ""} {
		if got := (types.IDs{}).GormDBDataType(db, field); got != want {
			t.Errorf("field %+v: got %q, want %q", field, got, want)
		}
	}
}

// A listed row has a key, a number and a column with an array, which conditions compare
// with arrays.
type listed struct {
	ID     types.ID `gorm:"primaryKey"`
	Number int64
	Refs   types.IDs
}

// GORM compares a column with each element of an Array only after IN. A comparison of a key
// or a number with an Array is an error, because an Array is one value. An Array in a column
// of arrays stays one value too. GORM would expand a slice in each of these places.
func TestArrayInConditions(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		if err := errors.Join(db.AutoMigrate(&listed{}), db.Create(&[]listed{{ID: 1, Number: 1, Refs: types.IDs{5}}, {ID: 2, Number: 2}, {ID: 3, Number: 3}}).Error); err != nil {
			t.Fatal(err)
		}
		ids := types.IDs{1, 2}
		for name, query := range map[string]*gorm.DB{
			"IN ?":         db.Where("id IN ?", ids),
			"IN (?)":       db.Where("id IN (?)", ids),
			"in(?)":        db.Where("number in(?)", ids),
			"NOT IN ?":     db.Where("id NOT IN ?", types.IDs{3}),
			"NOT IN (?)":   db.Not("id IN (?)", types.IDs{3}),
			"typed":        db.Where("id IN ?", types.Array[ticketID]{1, 2}),
			"named":        db.Where("id IN @ids", map[string]any{"ids": ids}),
			"OR":           db.Where("id IN ?", types.IDs{1}).Or("number IN (?)", types.IDs{2}),
			"in a raw":     db.Where("id IN (SELECT id FROM listeds WHERE number IN ?)", ids),
			"in subquery":  db.Where("id IN (?)", db.Model(&listed{}).Select("id").Where("number IN ?", ids)),
			"many":         db.Where("id IN ? AND number IN (?)", ids, types.IDs{1, 2, 7}),
			"empty not":    db.Where("id IN ?", ids).Not("id IN ?", types.IDs{7}),
			"column apart": db.Where("id IN ?", ids).Where("refs = ? OR 1 = 1", types.IDs{5}),
		} {
			var got []types.ID
			if err := query.Model(&listed{}).Order("id").Pluck("id", &got).Error; err != nil || !slices.Equal(got, []types.ID{1, 2}) {
				t.Errorf("%s: got %v, %v; want [1 2]", name, got, err)
			}
		}
		for name, none := range map[string]types.IDs{"nil": nil, "empty": {}} {
			var n int64
			if err := db.Model(&listed{}).Where("id IN ?", none).Or("id IN (?)", none).Count(&n).Error; err != nil || n != 0 {
				t.Errorf("%s: %d rows, %v; want none", name, n, err)
			}
		}
		for name, run := range map[string]func(*gorm.DB) *gorm.DB{
			"map":  func(db *gorm.DB) *gorm.DB { return db.Where(map[string]any{"id": ids}).Find(&[]listed{}) },
			"Find": func(db *gorm.DB) *gorm.DB { return db.Find(&[]listed{}, ids) },
			"name": func(db *gorm.DB) *gorm.DB { return db.Where("number", ids).Find(&[]listed{}) },
			"=":    func(db *gorm.DB) *gorm.DB { return db.Where("id = ?", ids).Find(&[]listed{}) },
			"Not":  func(db *gorm.DB) *gorm.DB { return db.Not(map[string]any{"id": ids}).Delete(&listed{}) },
			"Not update": func(db *gorm.DB) *gorm.DB {
				return db.Model(&listed{}).Not(map[string]any{"id": ids}).Update("number", 9)
			},
			"Delete": func(db *gorm.DB) *gorm.DB { return db.Delete(&listed{}, ids) },
		} {
			if err := run(db).Error; err == nil || !strings.Contains(err.Error(), "is compared with an Array of 2 IDs, which is one value: pass a []types.ID") {
				t.Errorf("%s: err = %v", name, err)
			}
		}
		var rows []listed
		if err := db.Order("id").Find(&rows).Error; err != nil || len(rows) != 3 || rows[2].Number != 3 || !slices.Equal(rows[0].Refs, types.IDs{5}) {
			t.Errorf("rows %+v, %v", rows, err)
		}
		if err := db.Model(&listed{ID: 2}).Update("refs", types.IDs{7}).Error; err != nil {
			t.Error(err)
		}
	})
}
