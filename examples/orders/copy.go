package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
)

// copyIn writes orders by COPY, the fastest way into PostgreSQL. COPY returns
// no keys, so it takes masters and details only where the keys are known before.
func copyIn(db *gorm.DB, orders []Order) error {
	if err := gormflake.Assign(db, &orders); err != nil {
		return err
	}
	ctx := db.Statement.Context
	return withPgx(ctx, db, func(conn *pgx.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if err := copyOrders(ctx, tx, orders); err != nil {
				return err
			}
			return copyLines(ctx, tx, linesOf(orders))
		})
	})
}

// withPgx lends one connection of GORM's pool as what it is underneath.
func withPgx(ctx context.Context, db *gorm.DB, use func(*pgx.Conn) error) error {
	pool, err := db.DB()
	if err != nil {
		return err
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // gives it back to the pool
	return conn.Raw(func(driverConn any) error {
		c, ok := driverConn.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("COPY needs a connection of pgx, this one is %T", driverConn)
		}
		return use(c.Conn())
	})
}

func copyOrders(ctx context.Context, tx pgx.Tx, orders []Order) error {
	rows := pgx.CopyFromSlice(len(orders), func(i int) ([]any, error) {
		o := &orders[i]
		return []any{o.ID, o.Customer}, nil
	})
	_, err := tx.CopyFrom(ctx, pgx.Identifier{Order{}.TableName()}, []string{"id", "customer"}, rows)
	return err
}

func copyLines(ctx context.Context, tx pgx.Tx, lines []Line) error {
	columns := []string{"id", "order_id", "sku", "quantity", "unit_cents"}
	rows := pgx.CopyFromSlice(len(lines), func(i int) ([]any, error) {
		l := &lines[i]
		return []any{l.ID, l.OrderID, l.SKU, l.Quantity, l.UnitCents}, nil
	})
	_, err := tx.CopyFrom(ctx, pgx.Identifier{Line{}.TableName()}, columns, rows)
	return err
}
