package types_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/types"
)

// connect opens a connection of pgx itself, without database/sql, in the given mode.
func connect(t *testing.T, mode pgx.QueryExecMode) *pgx.Conn {
	t.Helper()
	config, err := pgx.ParseConfig(testdb.PostgresURL(t, testdb.Open(t, testdb.Postgres)))
	if err != nil {
		t.Fatal(err)
	}
	config.DefaultQueryExecMode = mode
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return conn
}

// eachMode runs f in all modes of pgx.
func eachMode(t *testing.T, f func(*testing.T, *pgx.Conn)) {
	t.Helper()
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
		pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			f(t, connect(t, mode))
		})
	}
}

// In all modes of pgx an ID is a bigint, and is read from bigint, text and numeric.
func TestPgxParametersAndScans(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, conn *pgx.Conn) {
		for _, want := range []types.ID{0, 1, sample, math.MaxInt64, -5, math.MinInt64} {
			var id, text, numeric types.ID
			row := conn.QueryRow(t.Context(), "SELECT $1::bigint, $1::bigint::text, $1::bigint::numeric", want)
			if err := row.Scan(&id, &text, &numeric); err != nil {
				t.Fatal(err)
			}
			if id != want || text != want || numeric != want {
				t.Errorf("got %d, %d, %d; want %d", id, text, numeric, want)
			}
		}
	})
}

// NULL is the zero ID, or a nil pointer in a *ID.
func TestPgxNull(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, conn *pgx.Conn) {
		id, set, null := types.ID(99), new(types.ID), new(types.ID)
		given := sample
		row := conn.QueryRow(t.Context(), "SELECT NULL::bigint, $1::bigint, $2::bigint", &given, (*types.ID)(nil))
		if err := row.Scan(&id, &set, &null); err != nil {
			t.Fatal(err)
		}
		if id != 0 || set == nil || *set != sample || null != nil {
			t.Errorf("got %d, %v, %v; want 0, %d, nil", id, set, null, sample)
		}
	})
}

// pgx reads other integer types into an ID. A float is an error.
func TestPgxSmallIntegers(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, conn *pgx.Conn) {
		var small, normal types.ID
		row := conn.QueryRow(t.Context(), "SELECT 7::smallint, (-8)::integer")
		if err := row.Scan(&small, &normal); err != nil || small != 7 || normal != -8 {
			t.Errorf("got %d, %d, %v; want 7, -8", small, normal, err)
		}
		if err := conn.QueryRow(t.Context(), "SELECT 7::float8").Scan(&small); err == nil {
			t.Errorf("a float was read as %d", small)
		}
	})
}

// In the modes of pgx that prepare or describe statements, a []ID is a bigint[], and a nil
// pointer in a []*ID is NULL. In the other modes pgx does not learn the type of the
// parameter, and then does not accept a slice of a named integer.
func TestPgxArrays(t *testing.T) {
	t.Parallel()
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			conn := connect(t, mode)
			want := []types.ID{sample, 0, 1}
			var got []types.ID
			var found int
			row := conn.QueryRow(t.Context(), "SELECT $1::bigint[], cardinality($1) WHERE 1 = ANY($1)", want)
			if err := row.Scan(&got, &found); err != nil || found != 3 || !slices.Equal(got, want) {
				t.Errorf("got %v, %d, %v; want %v", got, found, err, want)
			}
			var pointers []*types.ID
			row = conn.QueryRow(t.Context(), "SELECT $1::bigint[]", []*types.ID{&want[0], nil})
			if err := row.Scan(&pointers); err != nil {
				t.Fatal(err)
			}
			if len(pointers) != 2 || *pointers[0] != sample || pointers[1] != nil {
				t.Errorf("got %v", pointers)
			}
		})
	}
}

// CopyFrom, which uses the binary form, writes IDs, and NULL for a nil pointer.
func TestPgxCopyFrom(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgx.QueryExecModeCacheStatement)
	if _, err := conn.Exec(t.Context(), "CREATE TEMPORARY TABLE lines (id bigint PRIMARY KEY, order_id bigint)"); err != nil {
		t.Fatal(err)
	}
	type line struct {
		ID      types.ID
		OrderID *types.ID
	}
	order := sample
	want := []line{{1, &order}, {2, nil}, {math.MaxInt64, &order}}
	copied, err := conn.CopyFrom(t.Context(), pgx.Identifier{"lines"}, []string{"id", "order_id"},
		pgx.CopyFromSlice(len(want), func(i int) ([]any, error) {
			return []any{want[i].ID, want[i].OrderID}, nil
		}))
	if err != nil || copied != 3 {
		t.Fatalf("copied %d, %v; want 3", copied, err)
	}
	rows, err := conn.Query(t.Context(), "SELECT id, order_id FROM lines ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowToStructByName[line])
	if err != nil {
		t.Fatal(err)
	}
	sameLine := func(a, b line) bool {
		return a.ID == b.ID && (a.OrderID == nil) == (b.OrderID == nil) && (a.OrderID == nil || *a.OrderID == *b.OrderID)
	}
	if !slices.EqualFunc(got, want, sameLine) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
