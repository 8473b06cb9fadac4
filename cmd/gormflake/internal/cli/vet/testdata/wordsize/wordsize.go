package wordsize

import (
	"strconv"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
)

type User struct{ ID uint64 }

var _ = gormflake.WithModels(&User{})

// find loses digits where an int has 32 bits.
func find(db *gorm.DB, s, t string, u User) int {
	n, _ := strconv.Atoi(s)
	m, _ := strconv.ParseInt(t, 10, 0)
	db.Find(&u, []int64{int64(n), m})
	return int(u.ID)
}
