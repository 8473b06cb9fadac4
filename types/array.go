package types

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// IDs is an [Array] of ID.
type IDs = Array[ID]

// An Array is a slice of IDs that is one parameter or one column. In PostgreSQL it is a
// bigint[], so that = ANY(?) compares a column with each element. In the other
// databases GORM writes it as a JSON array of numbers.
//
//	db.Where("id = ANY(?)", types.IDs(ids)).Find(&orders)
//
// A slice converts to an Array without a copy. The nil Array is NULL, for which ANY is
// never true; an empty Array is an empty array. In JSON an Array has the form of a slice.
//
// In GORM, "id IN ?" takes both a []ID and an Array. In all other places an Array is
// one value: see [Array.GormValue].
type Array[T ~int64] []T

// Value returns the text of a PostgreSQL array, such as {1,2}, which pgx in all its modes
// and lib/pq can send. It returns nil, which is NULL, for the nil Array. The error is always
// nil.
func (a Array[T]) Value() (driver.Value, error) {
	if a == nil {
		return nil, nil
	}
	return a.text('{', '}'), nil
}

// text returns the IDs in decimal, separated by commas, between the bytes first and last, for
// example {1,2} or [1,2].
func (a Array[T]) text(first, last byte) string {
	b := append(make([]byte, 0, 2+20*len(a)), first) // room for 19 digits and a comma for each ID
	for i, id := range a {
		if i > 0 {
			b = append(b, ',')
		}
		b, _ = ID(id).AppendText(b)
	}
	return string(append(b, last))
}

// Scan reads a PostgreSQL array, as text or in the binary form that pgx returns. It
// also reads the text of a JSON array, and NULL as the nil Array. An element in text
// has the form that [ID.Scan] reads. NULL as an element and an array of arrays are
// errors. The Array is nil after an error.
func (a *Array[T]) Scan(src any) (err error) {
	*a = nil
	switch v := src.(type) {
	case nil:
	case string:
		*a, err = scanArray[T](v)
	case []byte:
		if len(v) > 0 && v[0] == 0 { // the binary form, because text begins with { or [
			*a, err = scanBinaryArray[T](v)
		} else {
			*a, err = scanArray[T](string(v))
		}
	default:
		err = fmt.Errorf("types: Array.Scan: cannot read %T: want an array of integers or its text", src)
	}
	return err
}

// scanArray parses the text of a PostgreSQL array, {1,2}, or of a JSON array, [1,2].
func scanArray[T ~int64](s string) (Array[T], error) {
	n := len(s)
	if n < 2 || s[0] != '{' && s[0] != '[' || s[n-1] != s[0]+2 { // in ASCII } is { + 2, and ] is [ + 2
		return nil, &parseError{"Array.Scan", s, "want {…} or […]"}
	}
	inside := strings.TrimSpace(s[1 : n-1])
	if inside == "" {
		return Array[T]{}, nil
	}
	a := make(Array[T], 0, 1+strings.Count(inside, ","))
	for text := range strings.SplitSeq(inside, ",") {
		id, err := scanText(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("types: Array.Scan, element %d: %w", len(a), err)
		}
		a = append(a, T(id))
	}
	return a, nil
}

// GormDataType returns the data type of the field in GORM's schema, "bigint[]". The type of
// the column is the result of [Array.GormDBDataType].
func (Array[T]) GormDataType() string { return "bigint[]" }

// GormDBDataType returns the type of the column that GORM's migrator creates: bigint[]
// in PostgreSQL, longtext in MySQL and MariaDB, and text in all other databases. It is
// not json, because MariaDB's json is a longtext, which AutoMigrate would alter at each
// start. It returns "" if the field's gorm tag has a type, so that GORM uses that type.
func (Array[T]) GormDBDataType(db *gorm.DB, field *schema.Field) string {
	if field != nil && field.TagSettings["TYPE"] != "" {
		return ""
	}
	switch db.Name() {
	case "postgres":
		return "bigint[]"
	case "mysql":
		return "longtext"
	}
	return "text"
}

// GormValue returns the SQL by which GORM writes the array in a statement. It is one parameter,
// a PostgreSQL array in PostgreSQL and a JSON array in the other databases. After IN, it is a
// parameter for each ID, as for a []ID.
//
// GormValue adds an error to the statement if the array is compared with a key or an integer
// column by =, <> or !=. For example, GORM writes id = ? for db.Find(&orders, ids). Pass a []ID
// instead.
//
// GORM does not tell GormValue what the array is for, so GormValue reads the end of the SQL
// that GORM has written so far.
func (a Array[T]) GormValue(_ context.Context, db *gorm.DB) clause.Expr {
	var before string // the SQL that GORM has written so far
	if db.Statement != nil {
		before = db.Statement.SQL.String()
		before = before[max(0, len(before)-maxBefore):]
	}
	if in := afterIn.FindStringSubmatch(before); in != nil {
		parenthesisWritten := in[1] != ""
		return clause.Expr{SQL: "?", Vars: []any{[]T(a)}, WithoutParentheses: parenthesisWritten}
	}
	if m := afterColumn.FindStringSubmatch(before); m != nil && isNumberOrKey(db.Statement.Schema, m[1]) { // m[1] is the column
		_ = db.AddError(fmt.Errorf("types: column %s is compared with an Array of %d IDs, which is one value: pass a []types.ID, or write IN ?", m[1], len(a)))
	}
	value, _ := a.Value() // the error is always nil
	if a != nil && db.Name() != "postgres" {
		value = a.text('[', ']') // a JSON array
	}
	return clause.Expr{SQL: "?", Vars: []any{value}}
}

// maxBefore is how many bytes of the SQL before the array GormValue reads. They hold a quoted
// column name of any database, and a comparison.
const maxBefore = 200

var (
	// afterIn matches SQL that ends with IN, such as "id IN (". Its group is the parenthesis,
	// or empty if GORM has not written one.
	afterIn = regexp.MustCompile(`(?i)\bIN\s*(\(\s*)?$`)

	// afterColumn matches SQL that ends with a column and a comparison, such as
	// `orders`.`id` = with id as its group.
	afterColumn = regexp.MustCompile("([^\\s.`\"]+)[`\"]?\\s*(?:=|<>|!=)\\s*$")
)

// isNumberOrKey reports whether the column is the model's key or an integer, so that it can
// never equal an array. It returns false for a column that the schema does not have.
func isNumberOrKey(s *schema.Schema, column string) bool {
	if s == nil {
		return false
	}
	f := s.LookUpField(column)
	if f == nil || f.IndirectFieldType == nil {
		return false
	}
	kind := f.IndirectFieldType.Kind()
	return f.PrimaryKey || reflect.Int <= kind && kind <= reflect.Uint64 // the integers in the order of reflect.Kind
}

// The head of an array in PostgreSQL's binary form has these fields of 4 bytes:
//
//	0  number of dimensions, which is 0 for an empty array
//	1  flags
//	2  type of the elements, as an OID
//	3  length           } once for each dimension
//	4  lower bound      }
//
// After the head come the elements. Each begins with its size in 4 bytes, which is -1 for NULL.
const (
	emptyHead = 3 * 4 // bytes of the head of an empty array
	listHead  = 5 * 4 // bytes of the head of an array of one dimension
)

// scanBinaryArray parses an array in PostgreSQL's binary form, which must have one dimension of
// integers, or be empty.
func scanBinaryArray[T ~int64](b []byte) (Array[T], error) {
	field := func(i int) uint32 { return binary.BigEndian.Uint32(b[4*i:]) } // field i of the head
	if len(b) == emptyHead && field(0) == 0 {
		return Array[T]{}, nil
	}
	if len(b) < listHead || field(0) != 1 {
		return nil, binaryArrayError(b)
	}
	size, elements := integerSize(field(2)), b[listHead:]
	if size == 0 || uint64(len(elements)) != uint64(field(3))*uint64(4+size) {
		return nil, binaryArrayError(b)
	}
	a := make(Array[T], 0, field(3))
	for element := range slices.Chunk(elements, 4+size) {
		if binary.BigEndian.Uint32(element) != uint32(size) { // for example, NULL has another size
			return nil, binaryArrayError(b)
		}
		a = append(a, T(bigEndian(element[4:])))
	}
	return a, nil
}

// binaryArrayError returns the error for a binary form that is not a list of integers.
func binaryArrayError(b []byte) error {
	return &parseError{"Array.Scan", string(b), "want one dimension of integers without NULL"}
}

// integerSize returns the number of bytes of an integer type, or 0 for other types. oid is
// PostgreSQL's number of the type.
func integerSize(oid uint32) int {
	switch oid {
	case 20: // bigint
		return 8
	case 21: // smallint
		return 2
	case 23: // integer
		return 4
	}
	return 0
}

// bigEndian returns the signed integer of up to 8 bytes, the highest byte first.
func bigEndian(b []byte) (n int64) {
	for _, c := range b {
		n = n<<8 | int64(c)
	}
	unused := 64 - 8*len(b)
	return n << unused >> unused // copies the sign bit of b to the unused high bits
}
