package jsonfloat

import (
	"encoding/json"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
)

type User struct{ ID uint64 }

var _ = gormflake.WithModels(&User{})

// assert converts a float64 to a key.
func assert(db *gorm.DB, claims map[string]any) (u User) {
	db.First(&u, uint64(claims["sub"].(float64))) // want `a key of User as a float64 keeps 53 bits, which are enough for JSSafeLayout alone: decode the JSON into a struct, or by Decoder.UseNumber`
	n, ok := claims["owner"].(float64)            // want `a key of User as a float64`
	if ok {
		u.ID = uint64(n)
	}
	return u
}

// number returns a key of any type that a decoder makes of a number.
func number(value any) uint64 {
	switch v := value.(type) {
	case float64: // want `a key of User as a float64`
		return uint64(v)
	case json.Number:
		n, _ := v.Int64()
		return uint64(n)
	case uint64:
		return v
	}
	return 0
}

func load(db *gorm.DB, value any) error { return db.Delete(&User{}, number(value)).Error }

// price does not become a key.
func price(value any) (total uint64) {
	if f, ok := value.(float64); ok {
		total = uint64(f)
	}
	switch v := value.(type) {
	case float64:
		total += uint64(v)
	}
	return total
}

// mixed makes a key of the integer alone.
func mixed(db *gorm.DB, value any) (u User, price float64) {
	switch v := value.(type) {
	case float64:
		price = v
	case uint64:
		db.First(&u, v)
	}
	return u, price
}
