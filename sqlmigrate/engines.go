package sqlmigrate

import (
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mysql"
	"github.com/gormflake/gormflake/sqlmigrate/internal/online/myonline"
	"github.com/gormflake/gormflake/sqlmigrate/internal/online/pgonline"
	"github.com/gormflake/gormflake/sqlmigrate/internal/postgres"
	"github.com/gormflake/gormflake/sqlmigrate/internal/sqlite"
)

// engines has one for each of GORM's dialects.
var engines = map[string]engine.Engine{
	"mysql":    mysql.Engine{},
	"postgres": postgres.Engine{},
	"sqlite":   sqlite.Engine{},
}

func engineOf(dialect string) (engine.Engine, error) {
	e, ok := engines[dialect]
	if !ok {
		return nil, fmt.Errorf("sqlmigrate: dialect %q is not supported: want sqlite, mysql or postgres", dialect)
	}
	return e, nil
}

// onlines has one for each of GORM's dialects that can.
var onlines = map[string]engine.Online{
	"mysql":    myonline.New(),
	"postgres": pgonline.New(),
}

// converted keeps the nil slice.
func converted[From, To any](list []From, convert func(From) To) []To {
	if list == nil {
		return nil
	}
	result := make([]To, len(list))
	for i, from := range list {
		result[i] = convert(from)
	}
	return result
}
