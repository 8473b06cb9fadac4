package check_test

import (
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/types"
)

// TestCheckWithoutPlugin checks that Check reports a handle without the plugin, which
// would create rows without keys.
func TestCheckWithoutPlugin(t *testing.T) {
	t.Parallel()
	plugintest.Wants(t, gormflake.Check(plugintest.Dry(t, nil), &plugintest.Book{}), []string{"not registered", "db.Use(gormflake.New(gen))", "this handle would create plugintest.Book without keys"})
}

// TestCheckModels checks that one error reports all mistakes of all models.
func TestCheckModels(t *testing.T) {
	t.Parallel()
	type (
		autoKey struct {
			ID int64 `snowflake:"pk"`
		}
		defaulted struct {
			ID     types.ID `snowflake:"pk"`
			Public types.ID `gorm:"default:7" snowflake:"id"`
		}
		small struct {
			ID   int64  `gorm:"autoIncrement:false;size:32" snowflake:"pk"`
			Text string `gorm:"size:10" snowflake:"id"`
		}
		wrongTag struct {
			ID    types.ID `snowflake:"key"`
			Other types.ID `snowflake:"di"`
		}
		child struct {
			ID     types.ID `snowflake:"pk"`
			BookID int32
			Book   plugintest.Book
		}
		untagged struct{ ID uint }
		exact    struct {
			ID string `gorm:"size:19" snowflake:"pk"`
		}
	)
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		if err := gormflake.Check(db, &plugintest.Book{}, &plugintest.Shelf{}, &plugintest.Kinds{}, &plugintest.PlainKeyBook{}, &plugintest.TextKeyBook{}, &exact{}); err != nil {
			t.Error(err)
		}
		plugintest.Wants(t, gormflake.Check(db, &autoKey{}, &defaulted{}, &small{}, &wrongTag{}, &child{}, &untagged{}, 7),
			[]string{"model autoKey, field ID", "autoIncrement:false", "types.ID"},
			[]string{"model defaulted, field Public", "default"},
			[]string{"model small, field ID", "32 bits"},
			[]string{"model small, field Text", "10 characters"},
			[]string{"model wrongTag, field ID", `unknown word "key"`},
			[]string{"model wrongTag, field Other", `unknown word "di"`},
			[]string{"model child, field BookID", "foreign key to Book", "int32"},
			[]string{"model untagged", "no snowflake tag"},
			[]string{"check int", "unsupported data type"},
		)
	})
}

// live is a valid model. The tests give it invalid tables.
type live struct {
	ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
	Public types.ID `snowflake:"id"`
	Text   string   `gorm:"size:20" snowflake:"id"`
}

// TestCheckLiveTable checks that Check finds mistakes in the table of a model without a
// mistake.
func TestCheckLiveTable(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		for _, test := range []struct {
			name string
			ddl  map[string]string // by dialect
			want []string          // parts of the error, nil if Check accepts the table
		}{
			{"assigned keys", map[string]string{
				"sqlite":   "CREATE TABLE lives (id integer PRIMARY KEY AUTOINCREMENT, public bigint, text text)",
				"mysql":    "CREATE TABLE lives (id bigint PRIMARY KEY AUTO_INCREMENT, public bigint, text text)",
				"postgres": "CREATE TABLE lives (id bigserial PRIMARY KEY, public bigint, text text)",
			}, []string{"field ID", "still assigns column id (auto-increment)", "sqlmigrate"}},
			{"identity", map[string]string{
				"postgres": "CREATE TABLE lives (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, public bigint, text text)",
			}, []string{"field ID", "still assigns column id (auto-increment)", "sqlmigrate"}},
			{"default", map[string]string{
				"sqlite":   "CREATE TABLE lives (id integer PRIMARY KEY, public bigint DEFAULT 7, text text)",
				"mysql":    "CREATE TABLE lives (id bigint PRIMARY KEY, public bigint DEFAULT 7, text text)",
				"postgres": "CREATE TABLE lives (id bigint PRIMARY KEY, public bigint DEFAULT 7, text text)",
			}, []string{"field Public", "still assigns column public (default 7)", "sqlmigrate"}},
			{"narrow", map[string]string{
				"mysql":    "CREATE TABLE lives (id bigint PRIMARY KEY, public int, text text)",
				"postgres": "CREATE TABLE lives (id bigint PRIMARY KEY, public integer, text text)",
			}, []string{"field Public", "int", "cannot hold every ID", "sqlmigrate"}},
			{"unsigned", map[string]string{
				"mysql": "CREATE TABLE lives (id bigint PRIMARY KEY, public int unsigned, text text)",
			}, []string{"field Public", "int", "cannot hold every ID"}},
			{"inexact", map[string]string{
				"mysql":    "CREATE TABLE lives (id bigint PRIMARY KEY, public double, text text)",
				"postgres": "CREATE TABLE lives (id bigint PRIMARY KEY, public double precision, text text)",
			}, []string{"field Public", "cannot hold every ID"}},
			{"short", map[string]string{
				"mysql":    "CREATE TABLE lives (id bigint PRIMARY KEY, public bigint, text varchar(18))",
				"postgres": "CREATE TABLE lives (id bigint PRIMARY KEY, public bigint, text varchar(18))",
			}, []string{"field Text", "(18), which cannot hold every ID: make it varchar(19)"}},
			{"short bytes", map[string]string{
				"mysql": "CREATE TABLE lives (id bigint PRIMARY KEY, public bigint, text varbinary(18))",
			}, []string{"field Text", "varbinary(18), which cannot hold every ID: make it varchar(19)"}},
			{"short padded bytes", map[string]string{
				"mysql": "CREATE TABLE lives (id bigint PRIMARY KEY, public bigint, text binary(18))",
			}, []string{"field Text", "binary(18), which cannot hold every ID: make it varchar(19)"}},
			{"missing", map[string]string{
				"sqlite":   "CREATE TABLE lives (id integer PRIMARY KEY, public bigint)",
				"mysql":    "CREATE TABLE lives (id bigint PRIMARY KEY, public bigint)",
				"postgres": "CREATE TABLE lives (id bigint PRIMARY KEY, public bigint)",
			}, []string{"field Text", "table lives has no column text"}},
			{"wide", map[string]string{
				"mysql":    "CREATE TABLE lives (id bigint unsigned PRIMARY KEY, public numeric(19), text varchar(19))",
				"postgres": "CREATE TABLE lives (id bigint PRIMARY KEY, public numeric, text varchar(19))",
			}, nil},
		} {
			ddl, ok := test.ddl[db.Name()]
			if !ok {
				continue
			}
			t.Run(test.name, func(t *testing.T) {
				plugintest.Must(t, db.Exec("DROP TABLE IF EXISTS lives"))
				plugintest.Must(t, db.Exec(ddl))
				err := gormflake.Check(db, &live{})
				if test.want == nil {
					if err != nil {
						t.Error(err)
					}
					return
				}
				plugintest.Wants(t, err, test.want)
			})
		}
	})
}

// TestCheckMigratedTables checks that Check accepts the tables that AutoMigrate creates,
// also in a dry run.
func TestCheckMigratedTables(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		models := []any{&live{}, &plugintest.Book{}, &plugintest.PlainKeyBook{}, &plugintest.TextKeyBook{}, &plugintest.Kinds{}, &plugintest.Product{}}
		plugintest.Migrate(t, db, models...)
		plugintest.MigrateShelves(t, db)
		models = append(models, &plugintest.Shelf{}, &plugintest.Volume{}, &plugintest.Page{})
		if err := gormflake.Check(db, models...); err != nil {
			t.Error(err)
		}
		if err := gormflake.Check(db.Session(&gorm.Session{DryRun: true}), models...); err != nil {
			t.Error(err)
		}
	})
}

// TestCheckSerialWithDefault checks that a column of serial numbers may have a default,
// because a column that was added later needs a default for the old rows.
func TestCheckSerialWithDefault(t *testing.T) {
	t.Parallel()
	type late struct {
		ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
		Number string   `gorm:"size:40" snowflake:"serial=LATE"`
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Must(t, db.Exec("CREATE TABLE lates (id bigint PRIMARY KEY, number varchar(40) NOT NULL DEFAULT '')"))
		if err := gormflake.Check(db, &late{}); err != nil {
			t.Error(err)
		}
	})
}
