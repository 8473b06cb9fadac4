package sqlmigrate_test

import (
	"testing"
	"time"
)

func postgresLarge(t *testing.T, server *pgServer) {
	schema := &largeSchema{tables: 366}
	d := server.database(t, schema.make())
	began := time.Now()
	plan := d.inspect(t, schema.targets()...)
	took := time.Since(began)
	t.Logf("%d tables planned in %v", len(plan.Tables), took)
	if took > 5*time.Second {
		t.Errorf("planning took %v, want 5 s at most", took)
	}
}
