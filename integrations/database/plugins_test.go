package database_test

import (
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"gorm.io/gorm"
	"gorm.io/plugin/dbresolver"
	"gorm.io/plugin/opentelemetry/tracing"
	"gorm.io/plugin/soft_delete"

	"github.com/gormflake/gormflake/internal/dsn"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/types"
)

// A write gets its key and reaches the source; reads ask the replica, which nothing
// fills here.
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

// A span has the statement with the key's digits.
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
