package database_test

import (
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"gorm.io/datatypes"
	"gorm.io/gorm"
	"gorm.io/plugin/dbresolver"
	"gorm.io/plugin/opentelemetry/tracing"
	"gorm.io/plugin/soft_delete"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/dsn"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/types"
)

// TestDBResolver checks that a written row gets its key and reaches the source. Reads go
// to the replica, which is empty in this test.
func TestDBResolver(t *testing.T) {
	t.Parallel()
	db := open(t, testdb.SQLite, &order{})
	replica, err := dsn.Open("sqlite://" + filepath.ToSlash(filepath.Join(t.TempDir(), "replica.db")))
	ok(t, err)
	empty, err := gorm.Open(replica)
	ok(t, err)
	ok(t, empty.AutoMigrate(&order{}))
	ok(t, db.Use(dbresolver.Register(dbresolver.Config{Replicas: []gorm.Dialector{replica}})))
	t.Cleanup(func() {
		if pool, err := empty.DB(); err == nil {
			pool.Close()
		}
	})
	created := order{}
	ok(t, db.Create(&created).Error)
	equal(t, created.ID, 1001)
	var atReplica, atSource int64
	ok(t, db.Model(&order{}).Where("id = ?", created.ID).Count(&atReplica).Error)
	ok(t, db.Clauses(dbresolver.Write).Model(&order{}).Where("id = ?", created.ID).Count(&atSource).Error)
	equal(t, atReplica, 0)
	equal(t, atSource, 1)
}

// page is a row of a model whose statements go to a separate database.
type page struct {
	ID   types.ID `gorm:"primaryKey" snowflake:"pk"`
	Text string
}

// counted is a row of a model without a tag, which the plugin fills by WithModels. Only in
// the source, its table has a counter (AUTOINCREMENT), about which Open must complain.
type counted struct {
	ID   uint `gorm:"primaryKey"`
	Text string
}

// TestDBResolverLooksAtTheSource checks that Open and Check read a table in the database
// to which the statements of its model go. The root has tables of the same names without a
// counter, so an error about a counter shows that the source was read.
func TestDBResolverLooksAtTheSource(t *testing.T) {
	t.Parallel()
	dir := filepath.ToSlash(t.TempDir())
	path, err := dsn.Open("sqlite://" + dir + "/source.db")
	ok(t, err)
	source, err := gorm.Open(path)
	ok(t, err)
	pool, err := source.DB()
	ok(t, err)
	t.Cleanup(func() { pool.Close() })
	ok(t, source.Exec("CREATE TABLE counteds (id INTEGER PRIMARY KEY AUTOINCREMENT, text text)").Error)
	ok(t, source.Exec("CREATE TABLE pages (id INTEGER PRIMARY KEY AUTOINCREMENT, text text)").Error)
	resolved := func(t *testing.T) *gorm.DB {
		db := testdb.Open(t, testdb.SQLite)
		ok(t, db.Exec("CREATE TABLE counteds (id INTEGER PRIMARY KEY CHECK (id > 0), text text) WITHOUT ROWID").Error)
		ok(t, db.Exec("CREATE TABLE pages (id INTEGER PRIMARY KEY, text text)").Error)
		ok(t, db.Use(dbresolver.Register(dbresolver.Config{Sources: []gorm.Dialector{path}}, "counteds", "pages")))
		return db
	}
	_, err = gormflake.Open(t.Context(), resolved(t), gormflake.WithModels(&counted{}))
	if err == nil || !strings.Contains(err.Error(), "counteds (at 1)") {
		t.Errorf("Open: %v, want an error about the counter of the source", err)
	}
	db := resolved(t)
	ok(t, db.Use(gormflake.New(&plugintest.Counter{})))
	for range 10 {
		if err := gormflake.Check(db, &page{}); err == nil || !strings.Contains(err.Error(), "still assigns column id (auto-increment)") {
			t.Fatalf("Check: %v, want an error about the counter of the source", err)
		}
	}
}

// TestDatatypes checks queries of IDs in a JSON column, where IDs are strings. The functions
// of datatypes bind a types.ID as an integer, which equals no string, so a query must pass
// the text of the ID. JSONSet with a types.ID writes a number into the JSON.
func TestDatatypes(t *testing.T) {
	t.Parallel()
	type document struct {
		ID    types.ID `gorm:"primaryKey" snowflake:"pk"`
		Data  datatypes.JSONType[order]
		Items datatypes.JSONSlice[types.ID]
	}
	db := open(t, testdb.SQLite, &document{})
	parent := sample
	ok(t, db.Create(&document{Data: datatypes.NewJSONType(order{sample, &parent}), Items: datatypes.JSONSlice[types.ID]{sample}}).Error)
	count := func(query any) (n int64) {
		ok(t, db.Model(&document{}).Where(query).Count(&n).Error)
		return n
	}
	equal(t, count(datatypes.JSONQuery("data").Equals(sample, "ID")), 0)
	equal(t, count(datatypes.JSONQuery("data").Equals(sample.String(), "ID")), 1)
	equal(t, count(datatypes.JSONArrayQuery("items").Contains(sample)), 0)
	equal(t, count(datatypes.JSONArrayQuery("items").Contains(sample.String())), 1)
	for value, want := range map[any]string{sample: text, sample.String(): `"` + text + `"`} {
		ok(t, db.Model(&document{}).Where("1 = 1").UpdateColumn("data", datatypes.JSONSet("data").Set("Parent", value)).Error)
		var got string
		ok(t, db.Raw("SELECT data -> '$.Parent' FROM documents").Row().Scan(&got))
		equal(t, got, want)
	}
	var read document
	ok(t, db.First(&read).Error)
	equal(t, *read.Data.Data().Parent, sample)
	equal(t, read.Items[0], sample)
}

// TestSoftDelete checks that rows with keys of the plugin can be deleted softly.
func TestSoftDelete(t *testing.T) {
	t.Parallel()
	type deletable struct {
		ID        types.ID `gorm:"primaryKey" snowflake:"pk"`
		DeletedAt soft_delete.DeletedAt
	}
	db := open(t, testdb.SQLite, &deletable{})
	created := []deletable{{}, {}}
	ok(t, db.Create(&created).Error)
	ok(t, db.Delete(&created[0]).Error)
	var left, all []deletable
	ok(t, db.Find(&left).Error)
	ok(t, db.Unscoped().Find(&all).Error)
	equal(t, len(left), 1)
	equal(t, left[0].ID, created[1].ID)
	equal(t, len(all), 2)
}

// TestOpenTelemetry checks that a span contains the statement with the digits of the key.
func TestOpenTelemetry(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	provider := trace.NewTracerProvider(trace.WithSpanProcessor(spans))
	db := open(t, testdb.SQLite, &order{})
	ok(t, db.Use(tracing.NewPlugin(tracing.WithTracerProvider(provider), tracing.WithoutMetrics())))
	ok(t, db.Create(&order{ID: sample}).Error)
	var queries []string
	for _, span := range spans.Ended() {
		for _, attribute := range span.Attributes() {
			if attribute.Key == "db.query.text" || attribute.Key == "db.statement" {
				queries = append(queries, attribute.Value.AsString())
			}
		}
	}
	if len(queries) != 1 || !strings.Contains(queries[0], text) {
		t.Errorf("got %q, want a statement with %s", queries, text)
	}
}
