package postgres_test

import (
	"database/sql"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/sqlmigrate/internal/postgres"
)

// A session is only ended if both its process number and its lock key match. The process number
// alone is not enough, because the server may have given it to another program's session since.
func TestEndOthers(t *testing.T) {
	t.Parallel()
	pool, err := sql.Open("pgx", testserver.Postgres(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	for _, test := range []struct {
		name  string
		pid   int64  // added to the process number of the session
		key   string // appended to its lock key
		ended bool   // whether the session is ended
	}{
		{"the same", 0, "", true},
		{"another lock", 0, " + 1", false},
		{"another process", 1, "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var conns [2]*sql.Conn
			for i := range conns {
				conn, err := pool.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				conns[i] = conn
			}
			if err := postgres.End(t.Context(), conns[0], conns[1], test.pid, test.key); err != nil {
				t.Fatal(err)
			}
			// The ROLLBACK fails only if the session has been ended.
			if _, err := conns[0].ExecContext(t.Context(), "ROLLBACK"); (err != nil) != test.ended {
				t.Errorf("afterwards: %v, want it ended: %v", err, test.ended)
			}
		})
	}
}
