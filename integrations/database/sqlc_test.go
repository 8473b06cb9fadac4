package database_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/gormflake/gormflake/integrations/database/sqlcquery"
	"github.com/gormflake/gormflake/internal/test/testdb"
)

// TestSqlc checks that the code that sqlc generates for pgx takes and returns keys. A list of
// keys is a []int64 in it.
func TestSqlc(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), testdb.PostgresURL(t, open(t, testdb.Postgres, &order{})))
	ok(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	queries, parent := sqlcquery.New(conn), sample-1
	ok(t, queries.CreateOrder(t.Context(), sqlcquery.CreateOrderParams{ID: parent}))
	ok(t, queries.CreateOrder(t.Context(), sqlcquery.CreateOrderParams{ID: sample, Parent: &parent}))
	after, err := queries.OrdersAfter(t.Context(), parent)
	ok(t, err)
	equal(t, len(after), 1)
	equal(t, after[0].ID, sample)
	equal(t, *after[0].Parent, parent)
	chosen, err := queries.OrdersOf(t.Context(), []int64{parent.Int64()})
	ok(t, err)
	equal(t, len(chosen), 1)
	equal(t, chosen[0].Parent, nil)
}
