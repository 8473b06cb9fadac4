package check_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/types"
)

const largest types.ID = 1<<63 - 1 // the largest ID

// TestCheckTypesOfColumns checks, for many types of column, that Check accepts a column
// exactly if the database returns the largest ID from it, and a query finds that ID without
// its neighbour.
func TestCheckTypesOfColumns(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		pool, err := db.DB()
		if err != nil {
			t.Fatal(err)
		}
		pool.SetMaxIdleConns(0)                                                                 // a connection caches the types of a table that was dropped
		unknown := map[string]string{"sqlite": "name", "mysql": "longtext", "postgres": "name"} // types that Check does not know and accepts
		compareColumn(t, db, live{ID: 1, Public: 1, Text: largest.String()}, "Text", "public bigint, text "+unknown[db.Name()])
		for _, column := range []string{
			"bigint", "numeric(10)", "decimal(10)", "decimal(19)", "decimal(20,1)", "decimal(20,2)", "decimal(21,2)", "numeric(18,0)", "decimal(40)",
			"int", "smallint", "real", "double precision", "varchar(18)", "varchar(19)", "char(19)", "text", "decimal",
		} {
			compareColumn(t, db, live{ID: 1, Public: largest, Text: "1"}, "Public", "public "+column+", text varchar(20)")
			compareColumn(t, db, live{ID: 1, Public: 1, Text: largest.String()}, "Text", "public bigint, text "+column)
		}
	})
}

// compareColumn creates a table with these columns, and fails if Check accepts the column of
// the field although the database cannot store the value and find it again, or the reverse.
func compareColumn(t *testing.T, db *gorm.DB, row live, field, columns string) {
	t.Helper()
	plugintest.Must(t, db.Exec("DROP TABLE IF EXISTS lives"))
	plugintest.Must(t, db.Exec("CREATE TABLE lives (id bigint PRIMARY KEY, "+columns+")"))
	var stored live
	err := db.Create(&row).Error
	if err == nil {
		err = db.First(&stored, 1).Error
	}
	exact := err == nil && finds(t, db, row, field)
	found := gormflake.Check(db, &live{})
	// A column that pads only shorter values may hold this value.
	padded := found != nil && strings.Contains(found.Error(), "pads shorter values")
	if (exact && stored == row) == (found != nil) && !padded {
		t.Errorf("%s: stored %+v, %v, want %+v; Check: %v", columns, stored, err, row, found)
	}
	if found != nil {
		plugintest.Wants(t, found, []string{"model live, field " + field + ": column " + strings.ToLower(field) + " of table lives is "})
	}
}

// finds reports whether queries by the field find exactly one row, although another row
// has an ID that is smaller by 1. Some queries have an IN of two values, which servers may
// convert differently from a single value.
func finds(t *testing.T, db *gorm.DB, row live, field string) bool {
	t.Helper()
	other := live{ID: 2, Public: row.Public - 1, Text: "2"}
	value, apart := any(row.Public), any(types.ID(7)) // the ID of the row, and an ID that no row has
	if field == "Text" {
		other = live{ID: 2, Public: 2, Text: (largest - 1).String()}
		value, apart = row.Text, "7"
	}
	plugintest.Must(t, db.Create(&other))
	queries := []*gorm.DB{db.Where(field+" = ?", value), db.Where(field+" IN ?", []any{value, apart})}
	if field == "Text" {
		queries = append(queries, db.Where(fmt.Sprintf("%s IN ('%s', '%s')", field, value, apart)))
	}
	for _, query := range queries {
		var n int64
		plugintest.Must(t, query.Model(&live{}).Count(&n))
		if n != 1 {
			return false
		}
	}
	return true
}

// TestCheckDeclaredTypes checks that Check reports a type that the model declares and that
// cannot hold every ID, before and after AutoMigrate creates the table.
func TestCheckDeclaredTypes(t *testing.T) {
	t.Parallel()
	type (
		short struct {
			ID types.ID `gorm:"type:numeric(10)" snowflake:"pk"`
		}
		fraction struct {
			ID types.ID `gorm:"type:decimal(21,2)" snowflake:"pk"`
		}
		inexact struct {
			ID types.ID `gorm:"type:double precision" snowflake:"pk"`
		}
		long struct {
			ID types.ID `gorm:"type:numeric(19)" snowflake:"pk"`
		}
		text struct {
			ID     string `gorm:"type:varchar(20)" snowflake:"pk"`
			Public string `gorm:"type:varchar(18)" snowflake:"id"`
		}
	)
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		for _, migrated := range []bool{false, true} {
			if migrated {
				plugintest.Migrate(t, db, &short{}, &fraction{}, &long{}, &inexact{}, &text{})
			}
			if err := gormflake.Check(db, &long{}); err != nil {
				t.Error(err)
			}
			plugintest.Wants(t, gormflake.Check(db, &inexact{}), []string{`model inexact, field ID: the column is double precision, which cannot hold every ID: remove gorm:"type"`})
			if db.Name() == "sqlite" { // whose other columns hold any number of digits
				continue
			}
			plugintest.Wants(t, gormflake.Check(db, &short{}, &fraction{}, &text{}),
				[]string{`model short, field ID: the column is numeric(10), which cannot hold every ID: remove gorm:"type"`},
				[]string{`model fraction, field ID: the column is decimal(21,2), which cannot hold every ID`},
				[]string{`model text, field Public: the column is varchar(18), which cannot hold every ID`})
		}
	})
}

type (
	textParent struct {
		ID       string      `gorm:"primaryKey;type:varchar(20)" snowflake:"pk"`
		Children []textChild `gorm:"foreignKey:ParentID;constraint:-"`
	}
	textChild struct {
		ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
		ParentID types.ID
	}
	textKey struct {
		ID types.ID `gorm:"primaryKey;type:varchar(20)" snowflake:"pk"`
	}
)

const (
	postgresText = "PostgreSQL's driver stores no number in a column of text: use string"
	mysqlText    = "MySQL compares text with a number as floating point, so that IDs up to 128 apart are equal: make it BIGINT, or the field a string"
)

// TestCheckNumbersInText checks that, on PostgreSQL and MySQL, Check reports a field that is
// a number and whose column is text. textKey declares such a column, and textChild gets it
// from GORM, because the key of textParent is text. PostgreSQL's driver rejects such a
// number, and MySQL treats it and its neighbours as equal.
func TestCheckNumbersInText(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		for _, migrated := range []bool{false, true} {
			if migrated {
				plugintest.Migrate(t, db, &textParent{}, &textChild{}, &textKey{})
			}
			err := gormflake.Check(db, &textParent{}, &textChild{}, &textKey{})
			switch testdb.TargetOf(db) {
			case testdb.Postgres:
				plugintest.Wants(t, err, []string{"model textChild, field ParentID, foreign key to textParent: " + postgresText}, []string{"model textKey, field ID: " + postgresText})
			case testdb.MySQL:
				plugintest.Wants(t, err,
					[]string{"model textChild, field ParentID, foreign key to textParent: ", "column", " is varchar(20), and " + mysqlText},
					[]string{"model textKey, field ID: ", "column", " is varchar(20), and " + mysqlText})
			default:
				if err != nil {
					t.Error(err)
				}
			}
		}
		for _, row := range []any{&textParent{Children: make([]textChild, 1)}, &textKey{}} {
			if err := db.Create(row).Error; (err == nil) != (db.Name() != "postgres") {
				t.Errorf("%T: %v", row, err)
			}
		}
	})
}

// TestCheckNumbersInTextOfTheTable checks that Check reports a number in a column of text
// also if only the table, and not the model, has such a column.
func TestCheckNumbersInTextOfTheTable(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() == "sqlite" {
			t.Skip("its columns hold anything")
		}
		plugintest.Must(t, db.Exec("CREATE TABLE lives (id bigint PRIMARY KEY, public varchar(18), text varchar(20))"))
		want := map[testdb.Target]string{
			testdb.MariaDB:  "varchar(18), which cannot hold every ID: make it varchar(19)",
			testdb.MySQL:    "varchar(18), and " + mysqlText,
			testdb.Postgres: "character varying(18): " + postgresText,
		}[testdb.TargetOf(db)]
		plugintest.Wants(t, gormflake.Check(db, &live{}), []string{"model live, field Public: column public of table lives is " + want})
	})
}

type (
	mixedNode struct {
		ID       string      `gorm:"primaryKey;type:varchar(20)" snowflake:"pk"`
		Children []mixedNode `gorm:"foreignKey:ParentID;constraint:-"`
		ParentID *string
	}
	mixedRow struct {
		ID      types.ID   `gorm:"primaryKey" snowflake:"pk"`
		OtherID *types.ID  // no relation
		Rows    []mixedRow `gorm:"foreignKey:RowID;constraint:-"`
		RowID   sql.NullString
	}
)

// TestCheckMixedColumns checks that, on MySQL, Check reports a foreign key if its column is a
// number and the column of the key is text, or the reverse. Each column fits its field, but
// MySQL compares the two inexactly in a join. MariaDB compares them exactly.
func TestCheckMixedColumns(t *testing.T) {
	t.Parallel()
	testdb.EachMySQL(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Use(t, db, plugintest.NewPlugin(t))
		plugintest.Must(t, db.Exec("CREATE TABLE mixed_nodes (id varchar(20) PRIMARY KEY, parent_id bigint)"))
		plugintest.Must(t, db.Exec("CREATE TABLE mixed_rows (id bigint PRIMARY KEY, other_id longtext, row_id varchar(20))"))
		err := gormflake.Check(db, &mixedNode{}, &mixedRow{})
		if testdb.TargetOf(db) == testdb.MariaDB {
			if err != nil {
				t.Error(err)
			}
			return
		}
		const both = "MySQL compares text with a number as floating point, so that IDs up to 128 apart are equal: make both BIGINT"
		plugintest.Wants(t, err,
			[]string{"model mixedNode, field ParentID, foreign key to mixedNode: the column is bigint and that of the key varchar(20), and " + both},
			[]string{"model mixedRow, field RowID, foreign key to mixedRow: the column is varchar(20) and that of the key bigint, and " + both},
			[]string{"model mixedRow, field OtherID: column other_id of table mixed_rows is longtext, and " + mysqlText})
	})
}

// TestCheckUntaggedColumns checks that Check also reports untagged columns of IDs,
// because MySQL and MariaDB truncate an ID that does not fit if sql_mode is empty.
func TestCheckUntaggedColumns(t *testing.T) {
	t.Parallel()
	type noted struct {
		ID     types.ID `snowflake:"pk"`
		Sent   types.ID
		Typed  *types.Of[live]
		Sized  types.ID `gorm:"size:32"`
		Number int64    // not an ID
		Hidden types.ID `gorm:"-"`
		Read   types.ID `gorm:"->;-:migration"`
		Later  types.ID // the table has no column for it yet
		AsJSON types.ID `gorm:"serializer:json;type:varchar(10)"`
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		sized := []string{"model noted, field Sized: the column has 32 bits, an ID needs 64"}
		plugintest.Wants(t, gormflake.Check(db, &noted{}), sized)
		type declared struct {
			ID   types.ID `snowflake:"pk"`
			Ref  types.ID `gorm:"type:int"`
			Text types.ID `gorm:"type:varchar(30)"`
			Fine types.ID `gorm:"type:bigint"`
		}
		const narrow, text = "model declared, field Ref: the column is int, which cannot hold every ID", "model declared, field Text: "
		switch err := gormflake.Check(db, &declared{}); {
		case db.Name() == "sqlite":
			if err != nil {
				t.Error(err)
			}
		case db.Name() == "mysql" && strings.Contains(t.Name(), "mariadb"):
			plugintest.Wants(t, err, []string{narrow})
		default:
			plugintest.Wants(t, err, []string{narrow}, []string{text})
		}
		plugintest.Must(t, db.Exec("CREATE TABLE noteds (id bigint PRIMARY KEY, sent int, typed smallint, sized bigint, number int, as_json varchar(10))"))
		err := gormflake.Check(db, &noted{})
		if db.Name() == "sqlite" {
			if err != nil {
				t.Error(err) // its columns hold any integer
			}
			return
		}
		plugintest.Wants(t, err,
			[]string{"model noted, field Sent: column sent of table noteds is int", "which cannot hold every ID"},
			[]string{"model noted, field Typed: column typed of table noteds is smallint", "which cannot hold every ID"})
	})
}

// TestCheckJSONTags checks that Check reports the option string in the json tag of an ID,
// which is a string in JSON without the option.
func TestCheckJSONTags(t *testing.T) {
	t.Parallel()
	type quoted struct {
		ID      types.ID  `json:"id,string" snowflake:"pk"`
		OwnerID *types.ID `json:"owner,omitempty,string"`
		Inner   struct {
			Public types.ID `json:",string"`
		} `gorm:"embedded"`
		Count int64               `json:"count,string"`
		Named plugintest.NamedInt `json:",string"`
		Fine  types.ID            `json:"string,omitempty"`

		List types.IDs `json:"list,string"` //nolint:staticcheck // the option has no effect on a list
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		const reason = "its json tag has the option string, with which some encoders quote a types.ID twice: remove ,string"
		plugintest.Wants(t, gormflake.Check(db, &quoted{}),
			[]string{"model quoted, field ID: " + reason},
			[]string{"model quoted, field OwnerID: " + reason},
			[]string{"model quoted, field Inner.Public: " + reason})
	})
}
