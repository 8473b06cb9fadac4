package parse

import (
	"fmt"
	"strconv"

	"github.com/gormflake/gormflake/types"
)

type Order struct{}

// read converts a parsed number to an ID.
func read(s string) (types.ID, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	return types.ID(n), err // want `an ID that strconv.ParseUint has read: use types.ParseID`
}

// nested converts a parsed number to an ID by two conversions.
func nested(s string) types.Of[Order] {
	n, _ := strconv.Atoi(s)
	return types.Of[Order](int64(n)) // want `an ID that strconv.Atoi has read`
}

// scan reads an ID by package fmt.
func scan(s string) (id types.ID, err error) {
	_, err = fmt.Sscan(s, &id) // want `fmt reads 5.5 as the ID 5: use types.ParseID`
	return id, err
}

// right reads an ID by ParseID. The number that it parses does not become an ID.
func right(s string) (types.ID, int, error) {
	page, err := strconv.Atoi(s)
	if err != nil {
		return 0, 0, err
	}
	id, err := types.ParseID(s)
	return max(id, types.ID(77)), page, err
}
