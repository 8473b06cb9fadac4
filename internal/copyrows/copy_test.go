package copyrows_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/internal/test/race"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/types"
)

var _ pgx.CopyFromSource = (*gormflake.CopyRows)(nil)

type copyRow struct {
	gormflake.Model
	Name string
}

type (
	copyBeforeSave   struct{ gormflake.Model }
	copyBeforeCreate struct{ gormflake.Model }
	copyAfterCreate  struct{ gormflake.Model }
	copyAfterSave    struct{ gormflake.Model }
)

func (*copyBeforeSave) BeforeSave(*gorm.DB) error     { return nil }
func (*copyBeforeCreate) BeforeCreate(*gorm.DB) error { return nil }
func (*copyAfterCreate) AfterCreate(*gorm.DB) error   { return nil }
func (*copyAfterSave) AfterSave(*gorm.DB) error       { return nil }

// copyVersioned has a field that sets its column by a clause.
type copyVersioned struct {
	gormflake.Model
	Version plugintest.Version
}

type copyUntagged struct{ ID types.ID }

// copyState has a column that the database fills.
type copyState struct {
	gormflake.Model
	State string `gorm:"default:lower('NEW')"`
}

// copyDated has a time stamp that the database may set.
type copyDated struct {
	ID   types.ID `gorm:"primaryKey" snowflake:"pk"`
	Name string
	Made time.Time `gorm:"autoCreateTime;default:now()"`
}

// copyShape has a column that only SQL can write.
type copyShape struct {
	gormflake.Model
	Area copyArea
}

type copyArea struct{ Text string }

func (a copyArea) GormValue(context.Context, *gorm.DB) clause.Expr {
	return gorm.Expr("ST_GeomFromText(?)", a.Text)
}

func (copyArea) GormDataType() string { return "geometry" }

// TestCopySourceRejects checks that CopySource returns an error for each part of a create
// that COPY would leave out, and accepts the rows with the fix that the documentation
// names.
func TestCopySourceRejects(t *testing.T) {
	t.Parallel()
	db := plugintest.NoDatabase(t, &plugintest.Counter{})
	omit := db.Session(&gorm.Session{}).Omit
	order := func() []plugintest.AssignOrder {
		return []plugintest.AssignOrder{{}, {Lines: []*plugintest.AssignLine{{}}}}
	}
	tests := []struct {
		name string
		db   *gorm.DB // a handle for which CopySource fails
		rows any
		want string
		fix  *gorm.DB // nil if there is no fix
	}{
		{"hook before save", db, make([]copyBeforeSave, 1), "hook BeforeSave", db.Session(&gorm.Session{SkipHooks: true})},
		{"hook before create", db, make([]copyBeforeCreate, 1), "hook BeforeCreate", db.Session(&gorm.Session{SkipHooks: true})},
		{"hook after create", db, &[]*copyAfterCreate{{}}, "hook AfterCreate", db.Session(&gorm.Session{SkipHooks: true})},
		{"hook after save", db, &copyAfterSave{}, "hook AfterSave", db.Session(&gorm.Session{SkipHooks: true})},
		{"field with clauses", db, make([]copyVersioned, 1), "does not apply plugintest.setVersion", db.Unscoped()},
		{"upsert", db.Clauses(clause.OnConflict{DoNothing: true}), make([]copyRow, 1), "no ON CONFLICT clause", nil},
		{"returning", db.Clauses(clause.Returning{}), make([]copyRow, 1), "no RETURNING clause", nil},
		{"modifier", db.Clauses(clause.Insert{Modifier: "IGNORE"}), make([]copyRow, 1), "no INSERT clause", nil},
		{"has many", db, order(), `row 1 has Lines, which COPY does not write: copy those rows on their own, and leave them out here with db.Omit("Lines")`, omit("Lines")},
		{"has many, others selected", db.Select("Name", "Lines"), order(), "row 1 has Lines", db.Select("Name")},
		{"belongs to", db, []*plugintest.AssignLine{{Order: &plugintest.AssignOrder{}}}, "row 0 has Order", omit(clause.Associations)},
		{"has one", db, &plugintest.AssignUser{Address: plugintest.AssignAddress{City: "Ulm"}}, "row 0 has Address", omit("Address")},
		{"many to many", db, &plugintest.AssignPost{Tags: []*plugintest.AssignTag{{}}}, "row 0 has Tags", omit("Tags")},
		{"join rows", omit("Tags.*"), &plugintest.AssignPost{Tags: []*plugintest.AssignTag{{}}}, "row 0 has Tags", omit("Tags")},
		{"default for some rows", db, []copyState{{State: "old"}, {}}, "field State: row 0 has a value, and for row 1 the database", omit("State")},
		{"default for the last row", db, []copyState{{}, {State: "new"}}, "field State: row 1 has a value, and for row 0 the database", omit("State")},
		{"broken model", db, &plugintest.BrokenParent{}, "CopySource: *plugintest.BrokenParent: invalid field found", nil},
		{"unset key", db, make([]copyUntagged, 1), "the row has no key", db.WithContext(gormflake.Skip(t.Context()))},
		{"unset key, unscoped", db.Unscoped(), make([]copyUntagged, 1), "the row has no key", nil},
		{"generator", plugintest.NoDatabase(t, &plugintest.Counter{Err: plugintest.ErrInjected}), make([]copyRow, 1), plugintest.ErrInjected.Error(), db},
		{"nil element", db, []*copyRow{{}, nil}, "row 1 is nil", nil},
		{"nil", db, nil, "got <nil>: want a pointer", nil},
		{"nil pointer", db, (*[]copyRow)(nil), "got a nil *[]copyrows_test.copyRow", nil},
		{"copy of a row", db, copyRow{}, "a copy that cannot be set: want a pointer to it", nil},
		{"copy of an array", db, [1]copyRow{}, "want a pointer to it", nil},
		{"map", db, &[]map[string]any{{}}, "want a pointer to a struct or slice", nil},
		{"subquery", db.Table("(?) AS t", db.Model(&copyRow{})), make([]copyRow, 1), "wants the name of a table", nil},
		{"alias", db.Table("rows AS r"), make([]copyRow, 1), "wants the name of a table, got rows AS r", nil},
		{"subquery alone", db.Table("(?)", db.Model(&copyRow{})), make([]copyRow, 1), "wants the name of a table, got (?)", nil},
		{"no name", db.Table("`a`.``"), make([]copyRow, 1), "wants the name of a table, got `a`.``", nil},
		{"failed before", failed(db), make([]copyRow, 1), gorm.ErrNotImplemented.Error(), db},
		{"no plugin", plugintest.Dummy(t, &gorm.Config{}), make([]copyRow, 1), "the plugin is not registered", db},
	}
	// GORM reads relations without a lock while it parses another model
	// (go-gorm/gorm#7862).
	for _, model := range []any{&plugintest.AssignOrder{}, &plugintest.AssignUser{}, &plugintest.AssignPost{}} {
		if err := db.Session(&gorm.Session{Initialized: true}).Statement.Parse(model); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := gormflake.CopySource(test.db, test.rows)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("CopySource = %v, want %q", err, test.want)
			}
			if test.fix == nil {
				return
			}
			if _, err := gormflake.CopySource(test.fix, test.rows); err != nil {
				t.Errorf("CopySource with the fix = %v", err)
			}
		})
	}
}

// failed returns a handle on which a statement has failed before.
func failed(db *gorm.DB) *gorm.DB {
	tx := db.Session(&gorm.Session{})
	_ = tx.AddError(gorm.ErrNotImplemented)
	return tx
}

// copyQualified has the name of a schema in its table's name.
type copyQualified struct{ gormflake.Model }

func (copyQualified) TableName() string { return "audit.rows" }

type copyPermissions struct {
	gormflake.Model
	Read    string `gorm:"->"`
	Updated string `gorm:"<-:update"`
	Created string `gorm:"<-:create"`
	None    string `gorm:"-"`
	Home    struct {
		Street string
		Zip    string `gorm:"->"`
	} `gorm:"embedded;embeddedPrefix:home_"`
}

// TestCopySourceColumns checks the table and the columns that CopySource chooses, which
// are those that Create would write.
func TestCopySourceColumns(t *testing.T) {
	t.Parallel()
	db := plugintest.NoDatabase(t, &plugintest.Counter{})
	prefixed := plugintest.Dummy(t, &gorm.Config{NamingStrategy: schema.NamingStrategy{TablePrefix: "audit."}})
	plugintest.Use(t, prefixed, gormflake.New(&plugintest.Counter{}))
	tests := []struct {
		name           string
		db             *gorm.DB
		rows           any
		table, columns string
	}{
		{"all", db, make([]copyRow, 1), "copy_rows", "id created_at updated_at name"},
		{"no rows", db, []*copyRow{}, "copy_rows", "id created_at updated_at name"},
		{"selected, with the key and time stamps", db.Select("Name"), make([]copyRow, 1), "copy_rows", "id created_at updated_at name"},
		{"selected one", db.Select("CreatedAt"), &copyRow{}, "copy_rows", "id created_at updated_at"},
		{"omitted", db.Omit("UpdatedAt", "name"), &[1]copyRow{}, "copy_rows", "id created_at"},
		{"permissions", db, make([]copyPermissions, 1), "copy_permissions", "id created_at updated_at created home_street"},
		{"default of the database", db, make([]copyState, 2), "copy_states", "id created_at updated_at"},
		{"no default needed", db, []copyState{{State: "a"}, {State: "b"}}, "copy_states", "id created_at updated_at state"},
		{"no default needed in one row", db, []copyState{{State: "a"}}, "copy_states", "id created_at updated_at state"},
		{"time stamp of the database, others selected", db.Select("Name"), []copyDated{{Made: time.Unix(1, 0)}}, "copy_dateds", "id name"},
		{"table", db.Table("rows"), make([]copyRow, 1), "rows", "id created_at updated_at name"},
		{"table in a schema", db.Table("audit.rows"), make([]copyRow, 1), "audit rows", "id created_at updated_at name"},
		{"model in a schema", db, make([]copyQualified, 1), "audit rows", "id created_at updated_at"},
		{"prefix of a schema", prefixed, make([]copyRow, 1), "audit copy_rows", "id created_at updated_at name"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			src, err := gormflake.CopySource(test.db, test.rows)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(src.Table(), " "); got != test.table {
				t.Errorf("table %q, want %q", got, test.table)
			}
			if got := strings.Join(src.Columns(), " "); got != test.columns {
				t.Errorf("columns %q, want %q", got, test.columns)
			}
		})
	}
}

// TestCopySourceRows checks that CopySource sets keys and time stamps in the structs and
// returns them as values, and that a second CopySource of the same rows changes neither.
func TestCopySourceRows(t *testing.T) {
	t.Parallel()
	gen := &plugintest.Counter{}
	first := time.Date(2026, 11, 22, 1, 2, 3, 0, time.UTC)
	now := first
	db := plugintest.NoDatabase(t, gen).Session(&gorm.Session{NowFunc: func() time.Time { return now }}).Omit("UpdatedAt")
	rows := []*copyRow{{Name: "a"}, {Model: gormflake.Model{ID: 7}}, {Name: "c"}}
	for range 2 { // the second time, keys and time stamps are set
		src, err := gormflake.CopySource(db, rows)
		if err != nil {
			t.Fatal(err)
		}
		for i, id := range []types.ID{1001, 7, 1002} {
			if !src.Next() {
				t.Fatalf("no row %d", i)
			}
			values, err := src.Values()
			if want := []any{id.Int64(), first, rows[i].Name}; err != nil || !slices.Equal(values, want) {
				t.Errorf("row %d: %v, %v, want %v", i, values, err, want)
			}
			if rows[i].ID != id || !rows[i].CreatedAt.Equal(first) || !rows[i].UpdatedAt.IsZero() {
				t.Errorf("row %d is %+v", i, rows[i])
			}
		}
		if src.Next() || src.Err() != nil {
			t.Errorf("after the last row: %v", src.Err())
		}
		now = now.Add(time.Hour)
	}
	if gen.Calls != 1 {
		t.Errorf("%d calls of the generator, want 1", gen.Calls)
	}
	if len(db.Statement.Omits) != 1 || db.Statement.Schema != nil {
		t.Error("CopySource has changed the caller's statement")
	}
}

// copyGrade is an integer in Go and text in the database.
type copyGrade int64

func (g copyGrade) Value() (driver.Value, error) { return strings.Repeat("*", int(g)), nil }

type copyGraded struct {
	gormflake.Model
	Stars   copyGrade
	Count   *int64
	Replies []copyReply `gorm:"foreignKey:GradedID"`
}

type copyReply struct {
	gormflake.Model
	GradedID types.ID
}

// TestCopySourceOfOneStruct checks that a struct is one row, that numbers have the type
// that GORM would write, and that a relation without rows is accepted.
func TestCopySourceOfOneStruct(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 1, 2, 3, 0, time.UTC)
	db := plugintest.NoDatabase(t, &plugintest.Counter{}).Session(&gorm.Session{NowFunc: func() time.Time { return now }})
	count := int64(7)
	for _, test := range []struct {
		row  copyGraded
		want []any
	}{
		{copyGraded{Stars: 3, Count: &count}, []any{int64(1001), now, now, copyGrade(3), count}},
		{copyGraded{Stars: 2, Replies: []copyReply{}}, []any{int64(1002), now, now, copyGrade(2), nil}},
	} {
		src, err := gormflake.CopySource(db, &test.row)
		if err != nil {
			t.Fatal(err)
		}
		if !src.Next() {
			t.Fatal("no row")
		}
		if values, err := src.Values(); err != nil || !slices.Equal(values, test.want) {
			t.Errorf("%v, %v, want %v", values, err, test.want)
		}
		if src.Next() {
			t.Error("a second row")
		}
	}
}

// copyAny has a column of any value, and a column of a list of IDs.
type copyAny struct {
	ID    types.ID `gorm:"primaryKey" snowflake:"pk"`
	Value any      `gorm:"type:text"`
	Refs  types.IDs
}

// TestCopySourceAnyValue checks that a field of type any is an error only if its value
// writes SQL other than one parameter.
func TestCopySourceAnyValue(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		value any
		want  string // the error, or "" for a value that COPY can take
	}{
		{"text", ""},
		{gorm.Expr("now()"), "clause.Expr writes the SQL now()"},
		{gorm.Expr("?"), "clause.Expr writes the SQL ?"},
		{gorm.Expr("?", "bound"), ""},
	} {
		src, err := gormflake.CopySource(plugintest.NoDatabase(t, &plugintest.Counter{}), []copyAny{{Value: test.value, Refs: types.IDs{7}}})
		if err != nil {
			t.Fatal(err)
		}
		src.Next()
		values, err := src.Values()
		if test.want != "" {
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v: %v, %v, want %q", test.value, values, err, test.want)
			}
			continue
		}
		if err != nil || len(values) != 3 || values[0] != int64(1001) || values[1] != "text" && values[1] != "bound" {
			t.Errorf("%v: %v, %v", test.value, values, err)
		}
		if values[2] != "[7]" {
			t.Errorf("refs %T %v, want [7]", values[2], values[2])
		}
	}
}

// TestCopySourceSQLValue checks that Values returns an error for a field that writes its
// own SQL, and that no row follows.
func TestCopySourceSQLValue(t *testing.T) {
	t.Parallel()
	src, err := gormflake.CopySource(plugintest.NoDatabase(t, &plugintest.Counter{}), make([]copyShape, 2))
	if err != nil {
		t.Fatal(err)
	}
	src.Next()
	values, err := src.Values()
	want := "gormflake: CopySource: model copyShape, field Area, row 0: copyrows_test.copyArea writes the SQL ST_GeomFromText(?)"
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("Values = %v, %v, want %s", values, err, want)
	}
	if src.Next() || !errors.Is(src.Err(), err) {
		t.Errorf("after the error: %v", src.Err())
	}
}

// TestCopySourceAllocations checks that each value costs at most one allocation, for its
// interface.
func TestCopySourceAllocations(t *testing.T) { //nolint:paralleltest // others' allocations would count
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	rows := make([]plugintest.Parcel, 1001) // AllocsPerRun makes one run more than it counts
	for i := range rows {
		rows[i] = plugintest.Parcel{Sender: "a", City: "b", Weight: int64(1000 + i), Price: 1.5, Paid: true}
	}
	src, err := gormflake.CopySource(plugintest.NoDatabase(t, &plugintest.Block{}), rows)
	if err != nil {
		t.Fatal(err)
	}
	got := testing.AllocsPerRun(1000, func() {
		src.Next()
		if _, err := src.Values(); err != nil {
			t.Fatal(err)
		}
	})
	if columns := len(src.Columns()); got > float64(columns-1) { // a bool has no allocation
		t.Errorf("%v allocations for a row of %d columns", got, columns)
	}
}

// TestCopySourceOfTree checks that a tree that has its keys from Assign can be copied into
// PostgreSQL table by table, and that the program can repeat this after the transaction has
// failed.
func TestCopySourceOfTree(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.Postgres)
	plugintest.Use(t, db, gormflake.New(plugintest.NewAssignGenerator()))
	shape := plugintest.HasManyShape()
	plugintest.AssignTables(t, db, shape.Models)
	pool, err := pgxpool.New(t.Context(), testdb.PostgresURL(t, db))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	tree := shape.Tree()
	plugintest.AssignOrFail(t, db, tree)
	// write copies the tree in a transaction, and returns fail.
	write := func(fail error) error {
		return pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			for _, rows := range shape.Tables(tree) {
				src, err := gormflake.CopySource(db.Omit(clause.Associations), rows)
				if err != nil {
					return err
				}
				if _, err := tx.CopyFrom(t.Context(), src.Table(), src.Columns(), src); err != nil {
					return err
				}
			}
			return fail
		})
	}
	if err := write(plugintest.ErrInjected); !errors.Is(err, plugintest.ErrInjected) {
		t.Fatal(err)
	}
	if n := plugintest.Count(t, db, &plugintest.AssignLine{}); n != 0 {
		t.Fatalf("%d rows left", n)
	}
	if err := write(nil); err != nil {
		t.Fatal(err)
	}
	plugintest.WantLoaded(t, db, shape, tree)
}

// TestCopySourceIntoSchema checks that COPY finds a table whose name has a schema, and
// accepts a slice without rows.
func TestCopySourceIntoSchema(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.Postgres)
	plugintest.Use(t, db, plugintest.NewPlugin(t))
	var schemaName string
	plugintest.Must(t, db.Raw("SELECT current_schema()").Scan(&schemaName))
	plugintest.Migrate(t, db, &copyRow{})
	if n, err := copyIn(t, db.Table(schemaName+".copy_rows"), make([]copyRow, 3)); n != 3 || err != nil {
		t.Errorf("%d rows copied, %v, want 3", n, err)
	}
	if n, err := copyIn(t, db, []copyRow{}); n != 0 || err != nil {
		t.Errorf("%d rows copied, %v, want none", n, err)
	}
	if n := plugintest.Count(t, db, &copyRow{}); n != 3 {
		t.Errorf("%d rows stored, want 3", n)
	}
}

// TestCopySourceTableNames checks that Table returns the schema and the table of a name,
// without quotes.
func TestCopySourceTableNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"rows": {"rows"}, "app.rows": {"app", "rows"}, "`my rows`": {"my rows"}, "`app`.rows": {"app", "rows"}, "`my app`.`my rows`": {"my app", "my rows"},
	} {
		src, err := gormflake.CopySource(plugintest.Dry(t, gormflake.New(&plugintest.Counter{})).Table(name), make([]copyRow, 1))
		if err != nil || !slices.Equal(src.Table(), want) {
			t.Errorf("%s: got %v, %v; want %q", name, src, err, want)
		}
	}
}

// TestCopySourceSerialOfParentsKey checks that CopySource sets the serial number of a row
// whose key is also a foreign key. The plugin sets such a serial number only in the callback
// just before the INSERT, because GORM may replace the key when it saves the parent.
func TestCopySourceSerialOfParentsKey(t *testing.T) {
	t.Parallel()
	type stub struct {
		PaymentID types.ID `gorm:"primaryKey" snowflake:"pk"`
		Number    string   `gorm:"size:40" snowflake:"serial=PAY"`
		Payment   *plugintest.Payment
	}
	db := plugintest.NoDatabase(t, plugintest.NewLayoutCounter())
	row := stub{PaymentID: 5, Payment: &plugintest.Payment{ID: 5}}
	if _, err := gormflake.CopySource(db.Omit("Payment"), &row); err != nil || row.Number == "" {
		t.Errorf("%v, row %+v, want a serial number", err, row)
	}
}
