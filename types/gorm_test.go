package types_test

import (
	"database/sql"
	"strings"
	"testing"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/migrator"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/types"
)

var _ migrator.GormDataTypeInterface = types.ID(0)

// rowKey is a model whose key has no tag except primaryKey. Its other columns are an
// optional ID, and an ID with a type in its tag.
type rowKey struct {
	ID     types.ID `gorm:"primaryKey"`
	Parent *types.ID
	Text   types.ID `gorm:"type:text"`
}

// openSQLite opens an empty database.
func openSQLite(t *testing.T) *gorm.DB {
	t.Helper()
	dialector := sqlite.Dialector{DriverName: "sqlite", DSN: t.TempDir() + "/test.db"}
	db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeDB(t, db) })
	return db
}

// closeDB closes the connections of a database.
func closeDB(t *testing.T, db *gorm.DB) {
	t.Helper()
	pool, err := db.DB()
	if err == nil {
		err = pool.Close()
	}
	if err != nil {
		t.Error(err)
	}
}

// The column of an ID is BIGINT, and integer in SQLite. The result is empty, which leaves
// the type to GORM, if the tag has a type (typed), if the column is a foreign key with the
// type of its key (copied), or if the database assigns the key (counted).
func TestGormDBDataType(t *testing.T) {
	t.Parallel()
	typed := &schema.Field{DataType: "bigint", TagSettings: map[string]string{"TYPE": "bigint"}}
	copied := &schema.Field{DataType: "bigint unsigned"}
	counted := &schema.Field{DataType: "bigint", AutoIncrement: true}
	for _, test := range []struct {
		dialector gorm.Dialector
		field     *schema.Field
		want      string
	}{
		{&sqlite.Dialector{}, &schema.Field{DataType: "bigint"}, "integer"},
		{&mysql.Dialector{}, &schema.Field{DataType: "bigint"}, "BIGINT"},
		{&postgres.Dialector{}, &schema.Field{DataType: "bigint"}, "BIGINT"},
		{&postgres.Dialector{}, nil, "BIGINT"},
		{&sqlite.Dialector{}, typed, ""},
		{&mysql.Dialector{}, copied, ""},
		{&mysql.Dialector{}, counted, ""},
		{&sqlite.Dialector{}, counted, "integer"},
	} {
		db := &gorm.DB{Config: &gorm.Config{Dialector: test.dialector}}
		if got := types.ID(0).GormDBDataType(db, test.field); got != test.want {
			t.Errorf("%s: got %q, want %q", test.dialector.Name(), got, test.want)
		}
	}
}

// GORM makes an integer key auto-increment, and asks the database for its value. It must do
// neither for an ID.
func TestGormAddsNoAutoIncrement(t *testing.T) {
	t.Parallel()
	statement := &gorm.Statement{DB: openSQLite(t)}
	if err := statement.Parse(&rowKey{}); err != nil {
		t.Fatal(err)
	}
	field := statement.Schema.PrioritizedPrimaryField
	if field.AutoIncrement || field.HasDefaultValue || field.DataType != "bigint" {
		t.Errorf("auto-increment %t, default %t, type %q", field.AutoIncrement, field.HasDefaultValue, field.DataType)
	}
	if got := statement.Schema.FieldsWithDefaultDBValue; len(got) != 0 {
		t.Errorf("GORM asks the database for %v", got)
	}
}

// In SQLite a key of type ID is the table's row number, so that it needs no second index.
func TestGormSQLiteKeyIsTheRowID(t *testing.T) {
	t.Parallel()
	db := openSQLite(t)
	if err := db.AutoMigrate(&rowKey{}); err != nil {
		t.Fatal(err)
	}
	parent := sample
	if err := db.Create(&rowKey{ID: sample + 1, Parent: &parent, Text: sample}).Error; err != nil {
		t.Fatal(err)
	}
	var rowID types.ID
	if err := db.Raw("SELECT rowid FROM row_keys").Row().Scan(&rowID); err != nil || rowID != sample+1 {
		t.Errorf("rowid is %d, %v; want %d", rowID, err, sample+1)
	}
	var kind string
	if err := db.Raw("SELECT typeof(text) FROM row_keys").Row().Scan(&kind); err != nil || kind != "text" {
		t.Errorf("the column with a type in its tag holds %q, %v; want text", kind, err)
	}
	var got rowKey
	if err := db.First(&got, sample+1).Error; err != nil {
		t.Fatal(err)
	}
	if got.ID != sample+1 || got.Parent == nil || *got.Parent != sample || got.Text != sample {
		t.Errorf("got %+v", got)
	}
}

// AutoMigrate at the next start of a program does not alter the table.
func TestGormSecondMigrationChangesNothing(t *testing.T) {
	t.Parallel()
	db := openSQLite(t)
	if err := db.AutoMigrate(&rowKey{}); err != nil {
		t.Fatal(err)
	}
	before := schemaVersion(t, db)
	if err := db.AutoMigrate(&rowKey{}); err != nil {
		t.Fatal(err)
	}
	if after := schemaVersion(t, db); after != before {
		t.Errorf("schema version went from %d to %d", before, after)
	}
	var create string
	if err := db.Raw("SELECT sql FROM sqlite_master WHERE name = 'row_keys'").Row().Scan(&create); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(strings.ToUpper(create), "AUTOINCREMENT") {
		t.Errorf("auto-increment in %s", create)
	}
}

// schemaVersion returns a number that SQLite raises with each change of a table.
func schemaVersion(t *testing.T, db *gorm.DB) (version int) {
	t.Helper()
	if err := db.Raw("PRAGMA schema_version").Row().Scan(&version); err != nil {
		t.Fatal(err)
	}
	return version
}

// TestGormConditions checks that GORM accepts IDs in conditions: as arguments, in a map, and
// in slices of IDs and of pointers to IDs for IN.
func TestGormConditions(t *testing.T) {
	t.Parallel()
	db := openSQLite(t)
	if err := db.AutoMigrate(&rowKey{}); err != nil {
		t.Fatal(err)
	}
	rows := []rowKey{{ID: 1}, {ID: 2}, {ID: sample}}
	if err := db.Create(&rows).Error; err != nil {
		t.Fatal(err)
	}
	two := types.ID(2)
	for name, query := range map[string]*gorm.DB{
		"IN []ID":  db.Where("id IN ?", []types.ID{1, 2}),
		"IN []*ID": db.Where("id IN ?", []*types.ID{&two, &rows[0].ID}),
		"map":      db.Where(map[string]any{"id": []types.ID{1, 2}}),
		"named":    db.Where("id <= @id", sql.Named("id", two)),
	} {
		var got []types.ID
		err := query.Model(&rowKey{}).Order("id").Pluck("id", &got).Error
		if err != nil || len(got) != 2 || got[0] != 1 || got[1] != 2 {
			t.Errorf("%s: got %v, %v; want [1 2]", name, got, err)
		}
	}
}
