package fill_test

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/types"
)

// The tests of this file are about rows of the table whose keys the structs or maps of an
// upsert could get by mistake, without an error.

// An item is found by its name, and a shipment belongs to an item.
type (
	item struct {
		ID   types.ID `gorm:"primaryKey" snowflake:"pk"`
		Name string   `gorm:"size:20;uniqueIndex"`
		N    int
	}
	shipment struct {
		ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
		ItemID types.ID
		Item   item `gorm:"constraint:-"`
	}
)

// storedNames returns the keys of a table's rows by their names.
func storedNames(t *testing.T, db *gorm.DB, table string) map[string]types.ID {
	t.Helper()
	var rows []item
	plugintest.Must(t, db.Table(table).Select("id", "name").Scan(&rows))
	ids := map[string]types.ID{}
	for _, row := range rows {
		ids[row.Name] = row.ID
	}
	return ids
}

// TestUpsertBehindTriggers checks upserts of a table with triggers. On MySQL, the plugin
// otherwise finds the key of an existing row by LastInsertId, which a trigger sets to 0. All
// the same, a struct, a list, a map and a parent must get the key of the existing row.
func TestUpsertBehindTriggers(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() != "mysql" {
			t.Skip("the trigger is written for MySQL and MariaDB")
		}
		plugintest.Migrate(t, db, &item{}, &shipment{})
		for _, event := range []string{"INSERT", "UPDATE"} {
			plugintest.Must(t, db.Exec("CREATE TRIGGER x_"+event+" BEFORE "+event+" ON items FOR EACH ROW SET NEW.n = NEW.n"))
		}
		old := item{Name: "a"}
		plugintest.Must(t, db.Create(&old))
		up := clause.OnConflict{UpdateAll: true}
		row, rows := item{Name: "a", N: 1}, []item{{Name: "new"}, {Name: "a", N: 2}, {Name: "newer"}}
		values := map[string]any{"name": "a", "n": 3}
		parent := shipment{Item: item{Name: "a"}}
		plugintest.Must(t, db.Clauses(up).Create(&row))
		plugintest.Must(t, db.Clauses(up).Create(&rows))
		plugintest.Must(t, db.Model(&item{}).Clauses(up).Create(values))
		plugintest.Must(t, db.Create(&parent))
		if row.ID != old.ID || rows[1].ID != old.ID || plugintest.KeyOf(values["id"]) != old.ID || parent.ItemID != old.ID {
			t.Errorf("struct %+v, list %+v, map %v, parent %+v: want key %d", row, rows, values, parent, old.ID)
		}
		if stored := storedNames(t, db, "items"); stored["new"] != rows[0].ID || stored["newer"] != rows[2].ID {
			t.Errorf("rows %v, structs %+v", stored, rows)
		}
	})
}

// TestUpsertBesideACounter checks an upsert of a table in which another column than the key
// has the counter. On MySQL, LastInsertId is then a value of that column, which no struct
// may get as its key.
func TestUpsertBesideACounter(t *testing.T) {
	t.Parallel()
	type ticket struct {
		ID   types.ID `gorm:"primaryKey" snowflake:"pk"`
		Seq  int64    `gorm:"autoIncrement;uniqueIndex"`
		Name string   `gorm:"size:20;uniqueIndex"`
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() != "mysql" {
			t.Skip("only MySQL and MariaDB have a counter in another column")
		}
		plugintest.Migrate(t, db, &ticket{})
		plugintest.Must(t, db.Create(&ticket{Name: "first"}))
		for _, conflict := range []clause.OnConflict{{DoNothing: true}, {UpdateAll: true}} {
			row := ticket{Name: "a"}
			plugintest.Must(t, db.Clauses(conflict).Create(&row))
			rows := []ticket{{Name: "b"}, {Name: "a"}}
			plugintest.Must(t, db.Clauses(conflict).Create(&rows))
			stored := storedNames(t, db, "tickets")
			if row.ID != stored["a"] || rows[0].ID != stored["b"] || rows[1].ID != stored["a"] && rows[1].ID != 0 {
				t.Errorf("%+v: struct %+v, list %+v, rows %v", conflict, row, rows, stored)
			}
		}
	})
}

// TestUpsertOfAListWithUntaggedKeys checks that a row of a list that the upsert skips or finds
// does not get the untagged key of another row. GORM writes keys into the structs by their
// positions, both keys that return and keys that it computes from LastInsertId.
func TestUpsertOfAListWithUntaggedKeys(t *testing.T) {
	t.Parallel()
	type person struct {
		ID     uint     `gorm:"primaryKey"`
		Public types.ID `snowflake:"id"`
		Email  string   `gorm:"size:20;uniqueIndex"`
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &person{})
		for _, email := range []string{"x", "y", "a"} {
			plugintest.Must(t, db.Create(&person{Email: email}))
		}
		for _, conflict := range []clause.OnConflict{{DoNothing: true}, {UpdateAll: true}} {
			rows := []person{{Email: "a"}, {Email: time.Now().Format(".000000000")}}
			if err := db.Clauses(conflict).Create(&rows).Error; err != nil {
				continue // for example, because email a violates its index
			}
			for _, row := range rows {
				var stored person
				plugintest.Must(t, db.Where("email = ?", row.Email).First(&stored))
				if row.Public != 0 && row != stored || row.ID != 0 && row.ID != stored.ID {
					t.Errorf("%+v: struct %+v, row %+v", conflict, row, stored)
				}
			}
		}
	})
}

// TestExistingRowOfTimeKey checks DO NOTHING for rows whose primary key contains a time,
// which the database may return in another zone or precision. An inserted row must keep its
// key. A row that is left out must get the key of the existing row, or no key.
func TestExistingRowOfTimeKey(t *testing.T) {
	t.Parallel()
	type reading struct {
		ID   types.ID  `gorm:"primaryKey" snowflake:"pk"`
		At   time.Time `gorm:"primaryKey"`
		Name string    `gorm:"size:20;uniqueIndex"`
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &reading{})
		plugintest.Must(t, db.Create(&reading{Name: "a", At: time.Now()}))
		rows := []reading{{Name: "a", At: time.Now()}, {Name: "b", At: time.Now()}}
		err := db.Clauses(clause.OnConflict{DoNothing: true}).Create(&rows).Error
		stored := storedNames(t, db, "readings")
		if err != nil || rows[1].ID != stored["b"] || rows[0].ID != 0 && rows[0].ID != stored["a"] {
			t.Errorf("structs %+v, rows %v, err = %v", rows, stored, err)
		}
	})
}

// TestExistingRowOfKeyWithDefault checks that structs get the IDs of their rows if the primary
// key also has a column that the database sets, as in a partitioned table.
func TestExistingRowOfKeyWithDefault(t *testing.T) {
	t.Parallel()
	type (
		event struct {
			ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
			Part    int      `gorm:"primaryKey;default:(3+4)"`
			GroupID types.ID
			Name    string `gorm:"size:20;uniqueIndex"`
		}
		group struct {
			ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
			Events []event  `gorm:"constraint:-"`
		}
	)
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &group{}, &event{})
		rows := []event{{Name: "a"}, {Name: "b"}}
		plugintest.Must(t, db.Clauses(clause.OnConflict{DoNothing: true}).Create(&rows))
		parent := group{Events: []event{{Name: "c"}, {Name: "d"}}}
		plugintest.Must(t, db.Create(&parent))
		stored := storedNames(t, db, "events")
		if rows[0].ID != stored["a"] || rows[1].ID != stored["b"] || parent.Events[1].ID != stored["d"] {
			t.Errorf("structs %+v and %+v, rows %v", rows, parent, stored)
		}
	})
}

// TestRowOfAnotherVersion checks DO NOTHING for a row with the key (5, 2) whose slug is in the
// row with the key (5, 1). The struct gets no key, or the key (5, 1). It must not keep its own
// key because the table has a row with the same ID.
func TestRowOfAnotherVersion(t *testing.T) {
	t.Parallel()
	type doc struct {
		ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
		Version int      `gorm:"primaryKey;autoIncrement:false"`
		Slug    string   `gorm:"size:20;unique"`
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &doc{})
		plugintest.Must(t, db.Create(&doc{ID: 5, Version: 1, Slug: "x"}))
		row := doc{ID: 5, Version: 2, Slug: "x"}
		plugintest.Must(t, db.Clauses(clause.OnConflict{DoNothing: true}).Create(&row))
		if row.ID != 0 && row.Version != 1 {
			t.Errorf("struct %+v, want no key, or the key of version 1", row)
		}
	})
}

// TestUpsertWithRowsThatDoNotReturn checks that an upsert of a list fails if a trigger keeps
// rows from returning, because GORM then writes the returned keys into other structs.
func TestUpsertWithRowsThatDoNotReturn(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() != "postgres" {
			t.Skip("the trigger is PostgreSQL's")
		}
		plugintest.Migrate(t, db, &item{})
		plugintest.Must(t, db.Exec("CREATE TRIGGER z BEFORE UPDATE ON items FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()"))
		plugintest.Must(t, db.Create(&[]item{{Name: "a", N: 1}, {Name: "b", N: 1}}))
		rows := []item{{Name: "a", N: 1}, {Name: "b", N: 2}}
		err := db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, UpdateAll: true}).Create(&rows).Error
		if err == nil || !strings.Contains(err.Error(), "the database returned fewer rows than the statement has") {
			t.Errorf("err = %v, structs %+v", err, rows)
		}
	})
}

// TestUpsertOfAccounts checks rows whose primary key has a tagged and an untagged column. On
// MySQL and MariaDB, a map gets both columns of the row that the upsert finds. If an account
// has the email of one row and the phone of another, its order must not get the key of the
// row with the phone.
func TestUpsertOfAccounts(t *testing.T) {
	t.Parallel()
	type account struct {
		TenantID types.ID `gorm:"primaryKey;autoIncrement:false"`
		ID       types.ID `gorm:"primaryKey;autoIncrement:false" snowflake:"pk"`
		Email    string   `gorm:"size:20;uniqueIndex"`
		Phone    string   `gorm:"size:20;uniqueIndex"`
		N        int
	}
	type order struct {
		ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
		TenantID types.ID
		Account  account `gorm:"foreignKey:TenantID,AccountID;references:TenantID,ID;constraint:-"`

		AccountID types.ID
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &account{}, &order{})
		plugintest.Must(t, db.Create(&[]account{{TenantID: 1, ID: 1, Email: "a", Phone: "1"}, {TenantID: 2, ID: 1, Email: "b", Phone: "2"}}))
		if db.Name() == "mysql" { // elsewhere, the upsert has to name its target
			m := map[string]any{"tenant_id": types.ID(3), "email": "a", "phone": "3", "n": 3}
			plugintest.Must(t, db.Model(&account{}).Clauses(clause.OnConflict{DoUpdates: clause.AssignmentColumns([]string{"n"})}).Create(m))
			if plugintest.KeyOf(m["tenant_id"]) != 1 || plugintest.KeyOf(m["id"]) != 1 {
				t.Errorf("map %v, want the key (1, 1)", m)
			}
		}
		child := order{Account: account{TenantID: 3, Email: "a", Phone: "2"}}
		if err := db.Create(&child).Error; err == nil && child.Account.Email == "a" && child.TenantID == 2 {
			t.Errorf("the child has the account %+v", child.Account)
		}
	})
}

// TestListThatSkipsByAnUntaggedKey checks that a row that DO NOTHING skips by its tagged column
// gets its own untagged key, not that of the row after it. GORM writes the keys that return
// into the structs by their positions, and a skipped row does not return.
func TestListThatSkipsByAnUntaggedKey(t *testing.T) {
	t.Parallel()
	type visitor struct {
		ID     uint     `gorm:"primaryKey"`
		Public types.ID `gorm:"uniqueIndex" snowflake:"id"`
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &visitor{})
		first, old := visitor{}, visitor{}
		plugintest.Must(t, db.Create(&first))
		plugintest.Must(t, db.Create(&old))
		skip := clause.OnConflict{Columns: []clause.Column{{Name: "public"}}, DoNothing: true}
		rows := []visitor{{Public: old.Public}, {}}
		plugintest.Must(t, db.Clauses(skip).Create(&rows))
		var added visitor
		plugintest.Must(t, db.Take(&added, "public = ?", rows[1].Public))
		if rows[0].ID != old.ID || rows[1].ID != added.ID {
			t.Errorf("untagged keys %d and %d, want %d and %d", rows[0].ID, rows[1].ID, old.ID, added.ID)
		}
		if !plugintest.CanTell(db) {
			return
		}
		for _, returning := range []clause.Returning{{}, {Columns: []clause.Column{{Name: "id"}, {Name: "public"}}}} {
			skipped, fresh := &visitor{Public: old.Public}, &visitor{}
			plugintest.Must(t, db.Clauses(skip, returning).Create(&[]*visitor{skipped, fresh}))
			added = visitor{}
			plugintest.Must(t, db.Take(&added, "public = ?", fresh.Public))
			if skipped.ID != old.ID || fresh.ID != added.ID {
				t.Errorf("RETURNING %v: untagged keys %d and %d, want %d and %d", returning.Columns, skipped.ID, fresh.ID, old.ID, added.ID)
			}
		}
	})
}

// TestConditionalListThatReturnsKeys checks that a row that the condition of an upsert leaves
// out keeps its key if the caller's RETURNING names the key. The row does not return, and GORM
// writes the key of the next row into its struct.
func TestConditionalListThatReturnsKeys(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() == "mysql" {
			t.Skip("an upsert has no condition on MySQL and MariaDB")
		}
		plugintest.Migrate(t, db, &item{})
		kept, updated := item{Name: "kept", N: 9}, item{Name: "updated"}
		plugintest.Must(t, db.Create(&kept))
		plugintest.Must(t, db.Create(&updated))
		small := clause.OnConflict{
			Columns: []clause.Column{{Name: "id"}}, DoUpdates: clause.AssignmentColumns([]string{"n"}),
			Where: clause.Where{Exprs: []clause.Expression{clause.Expr{SQL: "items.n < 5"}}},
		}
		rows := []item{{ID: kept.ID, Name: "kept"}, {ID: updated.ID, Name: "updated", N: 1}}
		plugintest.Must(t, db.Clauses(small, clause.Returning{Columns: []clause.Column{{Name: "id"}}}).Create(&rows))
		if rows[0].ID != kept.ID || rows[1].ID != updated.ID {
			t.Errorf("keys %d and %d, want %d and %d", rows[0].ID, rows[1].ID, kept.ID, updated.ID)
		}
		// GORM would write other columns into the wrong structs, too.
		for _, returning := range []clause.Returning{{}, {Columns: []clause.Column{{Name: "id"}, {Name: "name"}}}} {
			err := db.Clauses(small, returning).Create(&[]item{{ID: kept.ID, Name: "kept"}, {ID: updated.ID, Name: "updated", N: 2}}).Error
			if err == nil || !strings.Contains(err.Error(), "with a condition and RETURNING") {
				t.Errorf("RETURNING %v: err = %v", returning.Columns, err)
			}
		}
	})
}

// TestListWithoutColumnsToUpdate saves a list of a new row and a stored row. The model has
// no column that could be updated, so GORM makes the upsert DO NOTHING. Each struct must
// have the key of its row.
func TestListWithoutColumnsToUpdate(t *testing.T) {
	t.Parallel()
	type visit struct {
		ID        int64 `gorm:"primaryKey" snowflake:"pk"`
		CreatedAt time.Time
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &visit{})
		rows := []visit{{}, {}}
		plugintest.Must(t, db.Save(&rows))
		again := []visit{rows[1], {}}
		plugintest.Must(t, db.Save(&again))
		var ids []int64
		plugintest.Must(t, db.Model(&visit{}).Order("id").Pluck("id", &ids))
		if !slices.Equal(ids, []int64{rows[0].ID, rows[1].ID, again[1].ID}) || again[0].ID != rows[1].ID {
			t.Errorf("rows %v, structs %+v and %+v", ids, rows, again)
		}
	})
}

// TestListThatSkipsByItsKey checks that DO NOTHING by the key of a list needs no query for the
// keys, although GORM returns keys with a counter. A list whose keys are left to the database
// gets these keys.
func TestListThatSkipsByItsKey(t *testing.T) {
	t.Parallel()
	type visit struct {
		ID   int64  `gorm:"primaryKey" snowflake:"pk"`
		Name string `gorm:"size:20"`
	}
	skip := clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, DoNothing: true}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() == "mysql" {
			t.Skip("an upsert has no target on MySQL and MariaDB")
		}
		plugintest.Migrate(t, db, &visit{})
		old := visit{Name: "old"}
		plugintest.Must(t, db.Create(&old))
		rows := []visit{{ID: old.ID, Name: "skipped"}, {Name: "new"}}
		queries := 0
		counting := db.Session(&gorm.Session{Logger: countingLogger{db.Logger, &queries}})
		plugintest.Must(t, counting.Clauses(skip).Create(&rows))
		var added visit
		plugintest.Must(t, db.Take(&added, "name = 'new'"))
		if queries != 1 || rows[0].ID != old.ID || rows[1].ID != added.ID {
			t.Errorf("%d statements, structs %+v; want 1, and the keys %d and %d", queries, rows, old.ID, added.ID)
		}
		left := []visit{{Name: "left"}, {Name: "to the database"}}
		plugintest.Must(t, db.Clauses(skip).Omit("ID").Create(&left))
		for _, row := range left {
			var stored visit
			plugintest.Must(t, db.Take(&stored, "name = ?", row.Name))
			if row.ID != stored.ID {
				t.Errorf("struct %+v, row %+v", row, stored)
			}
		}
	})
}

// A countingLogger counts statements.
type countingLogger struct {
	logger.Interface
	n *int
}

// LogMode returns the logger itself, so that a session continues to count.
func (l countingLogger) LogMode(logger.LogLevel) logger.Interface { return l }

func (l countingLogger) Trace(context.Context, time.Time, func() (string, int64), error) { *l.n++ }

// TestPointersThatDoNotReturn checks that a struct whose row DO NOTHING skips gets the key of
// the existing row, or no key. With RETURNING *, GORM replaces the pointers of the list by
// pointers to the returned rows, so that the list no longer has the skipped struct.
func TestPointersThatDoNotReturn(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		if !plugintest.CanTell(db) {
			t.Skip("the database has no RETURNING")
		}
		plugintest.Migrate(t, db, &item{})
		old := item{Name: "a"}
		plugintest.Must(t, db.Create(&old))
		skipped, added := &item{Name: "a"}, &item{Name: "b"}
		rows := []*item{skipped, added}
		plugintest.Must(t, db.Clauses(clause.OnConflict{DoNothing: true}, clause.Returning{}).Create(&rows))
		stored := storedNames(t, db, "items")
		if skipped.ID != 0 && skipped.ID != old.ID || added.ID != stored["b"] {
			t.Errorf("keys %d and %d of rows %v", skipped.ID, added.ID, stored)
		}
		for _, row := range rows {
			if row.ID != stored[row.Name] {
				t.Errorf("the list has %+v of rows %v", row, stored)
			}
		}
		inArray := &item{Name: "a"}
		plugintest.Must(t, db.Clauses(clause.OnConflict{DoNothing: true}, clause.Returning{}).Create(&[2]*item{inArray, {Name: "c"}}))
		if inArray.ID != 0 && inArray.ID != old.ID {
			t.Errorf("a struct of an array has the key %d, the row %d", inArray.ID, old.ID)
		}
	})
}

// TestNullIsNoUniqueValue checks that the plugin does not find a row by a unique column in which
// the struct has NULL, because NULL conflicts with no row. An invalid [sql.NullString] is NULL.
func TestNullIsNoUniqueValue(t *testing.T) {
	t.Parallel()
	type contact struct {
		ID    types.ID       `gorm:"primaryKey" snowflake:"pk"`
		Email sql.NullString `gorm:"size:20;uniqueIndex"`
		Code  string         `gorm:"size:20"`
	}
	type call struct {
		ID        types.ID `gorm:"primaryKey" snowflake:"pk"`
		ContactID types.ID
		Contact   contact `gorm:"constraint:-"`
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &contact{}, &call{})
		plugintest.Must(t, db.Exec("CREATE UNIQUE INDEX by_code ON contacts (code)")) // which the model does not declare
		other, found := contact{Code: "a"}, contact{Email: sql.NullString{String: "b", Valid: true}, Code: "x"}
		plugintest.Must(t, db.Create(&other))
		plugintest.Must(t, db.Create(&found))
		child := call{Contact: contact{Code: "x"}}
		err := db.Create(&child).Error
		if err == nil && child.ContactID != found.ID || err != nil && !strings.Contains(err.Error(), "its key is unknown") {
			t.Errorf("Create = %v, and the child refers to %d; want an error, or row %d", err, child.ContactID, found.ID)
		}
	})
}

// A conflictByName is an upsert in a type of the caller's own, which the plugin cannot read.
type conflictByName struct{}

func (conflictByName) Name() string                   { return "ON CONFLICT" }
func (c conflictByName) MergeClause(m *clause.Clause) { m.Expression = c }
func (conflictByName) Build(b clause.Builder) {
	_, _ = b.WriteString("(name) DO UPDATE SET n = excluded.n")
}

// TestConflictOfTheCallersType checks that an upsert in a type of the caller's own is sent as it
// is, and that its struct gets the key of the existing row.
func TestConflictOfTheCallersType(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() == "mysql" {
			t.Skip("MySQL and MariaDB have no ON CONFLICT")
		}
		plugintest.Migrate(t, db, &item{})
		old := item{Name: "a"}
		plugintest.Must(t, db.Create(&old))
		rows := []item{{Name: "b", N: 1}, {Name: "a", N: 2}}
		plugintest.Must(t, db.Clauses(conflictByName{}).Create(&rows))
		row := item{Name: "a", N: 3}
		plugintest.Must(t, db.Clauses(conflictByName{}).Create(&row))
		var stored item
		plugintest.Must(t, db.Take(&stored, "name = 'a'"))
		maps := []map[string]any{{"name": "a", "n": 3}, {"name": "c", "n": 4}}
		plugintest.Must(t, db.Model(&item{}).Clauses(conflictByName{}).Create(maps))
		if names := storedNames(t, db, "items"); plugintest.KeyOf(maps[0]["id"]) != old.ID || plugintest.KeyOf(maps[1]["id"]) != names["c"] {
			t.Errorf("maps %v, rows %v", maps, names)
		}
		if names := storedNames(t, db, "items"); rows[0].ID != names["b"] || rows[1].ID != old.ID || row.ID != old.ID || stored.N != 3 {
			t.Errorf("list %+v, struct %+v, rows %v, stored %+v", rows, row, names, stored)
		}
	})
}
