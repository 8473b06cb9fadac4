package ent_test

import (
	"database/sql"
	"testing"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	_ "modernc.org/sqlite"

	"github.com/gormflake/gormflake/integrations/ent"
	"github.com/gormflake/gormflake/integrations/ent/order"
	"github.com/gormflake/gormflake/types"
)

// The code that ent generates creates one row and several rows, and finds rows by a key.
func TestEnt(t *testing.T) {
	const key types.ID = 7529595880471527425
	db, err := sql.Open("sqlite", t.TempDir()+"/test.db")
	if err != nil {
		t.Fatal(err)
	}
	client := ent.NewClient(ent.Driver(entsql.OpenDB(dialect.SQLite, db)))
	defer client.Close()
	if _, err := db.Exec("CREATE TABLE orders (id bigint PRIMARY KEY, parent bigint)"); err != nil {
		t.Fatal(err)
	}
	client.Order.Create().SetID(key).SaveX(t.Context())
	client.Order.CreateBulk(
		client.Order.Create().SetID(key+1).SetParent(key),
		client.Order.Create().SetID(key+2).SetParent(key),
	).SaveX(t.Context())
	children := client.Order.Query().Where(order.Parent(key)).Order(order.ByID()).AllX(t.Context())
	if len(children) != 2 || children[0].ID != key+1 || *children[1].Parent != key {
		t.Errorf("got %v, want two children of %d", children, key)
	}
}
