package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
)

// rowsPerInsert is near each database's best. More rows cost less each, but
// modernc.org/sqlite looks for each parameter among all of the statement's.
func rowsPerInsert(db *gorm.DB) int {
	if db.Name() == "sqlite" {
		return 100
	}
	return 1000
}

// insertOneByOne makes the orders; what it returns writes them, and is timed.
func insertOneByOne(db *gorm.DB) (func() error, error) {
	orders := newAutoOrders()
	return func() error {
		return db.Transaction(func(tx *gorm.DB) error {
			for i := range orders {
				if err := tx.Create(&orders[i]).Error; err != nil {
					return err
				}
			}
			return nil
		})
	}, nil
}

func insertBatches(db *gorm.DB) (func() error, error) {
	orders, rows := newOrders(), rowsPerInsert(db)
	return func() error {
		if err := gormflake.Assign(db, &orders); err != nil {
			return err
		}
		return db.Transaction(func(tx *gorm.DB) error {
			if err := tx.Omit("Lines").CreateInBatches(orders, rows).Error; err != nil {
				return err
			}
			return tx.CreateInBatches(linesOf(orders), rows).Error
		})
	}, nil
}

// copyIn uses a connection of GORM's pool as what it is underneath.
func copyIn(db *gorm.DB) (func() error, error) {
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	orders, ctx := newOrders(), context.Background()
	return func() error {
		if err := gormflake.Assign(db, &orders); err != nil {
			return err
		}
		conn, err := pool.Conn(ctx)
		if err != nil {
			return err
		}
		err = conn.Raw(func(c any) error {
			pg, ok := c.(*stdlib.Conn)
			if !ok {
				return fmt.Errorf("CopyFrom wants a connection of pgx, got %T", c)
			}
			return copyOrders(ctx, pg.Conn(), orders)
		})
		return errors.Join(err, conn.Close())
	}, nil
}

func copyOrders(ctx context.Context, conn *pgx.Conn, orders []order) error {
	lines := linesOf(orders)
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		_, err := tx.CopyFrom(ctx, pgx.Identifier{"gormflake_bench_orders"}, []string{"id", "customer"},
			pgx.CopyFromSlice(len(orders), func(i int) ([]any, error) {
				return []any{orders[i].ID, orders[i].Customer}, nil
			}))
		if err != nil {
			return err
		}
		_, err = tx.CopyFrom(ctx, pgx.Identifier{"gormflake_bench_lines"}, []string{"id", "order_id", "sku", "quantity"},
			pgx.CopyFromSlice(len(lines), func(i int) ([]any, error) {
				l := &lines[i]
				return []any{l.ID, l.OrderID, l.SKU, l.Quantity}, nil
			}))
		return err
	})
}
